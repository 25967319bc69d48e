"""Which types a source of C++ defines at namespace scope: a scanner for module_map.py.

It counts braces; it does not compile. Comments, literals and directives are dropped, and of the
branches of an #if only the first is read.
"""
import re

LITERALS = re.compile(r'''//[^\n]*|/\*.*?\*/|R"([^(\s]*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"'''
                      r"|(?<!\w)'(?:\\.|[^'\\\n])+'", re.S)
DIRECTIVE = re.compile(r"\s*#\s*(\w*)")
TOKEN = re.compile(r"\w+|::|[][{}()<>;:=,]")
KEYS = ("class", "struct", "union", "enum")
OPENING, CLOSING = "({", ")}"


def code_of(text):
    """The text without comments, literals, directives, and the later branches of every #if."""
    text = LITERALS.sub(" ", text).replace("\\\n", " ")
    skipped = []  # of every #if that is open: whether a later branch of it is being read
    for line in text.split("\n"):
        found = DIRECTIVE.match(line)
        if not found:
            if not any(skipped):
                yield line
        elif found.group(1).startswith("if"):
            skipped.append(False)
        elif found.group(1).startswith("el"):
            skipped[-1] = True
        elif found.group(1) == "endif":
            skipped.pop()


def without_template(words):
    """A declaration's words after its template<...>."""
    while words[:2] == ["template", "<"]:
        depth = 0
        for at, word in enumerate(words):
            depth += (word == "<") - (word == ">")
            if word == ">" and depth == 0:
                break
        words = words[at + 1:]
    return words


def defined_by(words, ending):
    """The name of the type that a declaration of these words defines, if `ending` ("{" or ";")
    follows them, or None. What stood in parentheses is a lone "(" in `words`."""
    words = without_template(words)
    if ending == ";":
        return words[1] if words[:1] == ["using"] and words[2:3] == ["="] else None
    key = next((at for at, word in enumerate(words) if word in KEYS), None)
    if key is None or "=" in words:
        return None
    head = words[key + 1:]
    if ":" in head:
        head = head[:head.index(":")]
    head = [word for word in head if word not in ("final", *KEYS)]
    arguments = ""  # of a specialization
    if "<" in head:
        arguments = " ".join(head[head.index("<"):])
        head = head[:head.index("<")]
    if not head or not head[-1].isidentifier() or "::" in head:
        return None  # unnamed, a function, or a nested type
    return head[-1] + arguments


def defined_types(text):
    """The types that a source defines in namespaces that have names, each with its namespaces."""
    spaces = []  # the names of the namespaces that are open
    words, depth = [], 0  # of the declaration that is read; what is open in it
    for token in TOKEN.findall("\n".join(code_of(text))):
        if depth or token == "(":
            depth += (token in OPENING) - (token in CLOSING)
            if token == "(" and depth == 1:
                words.append(token)
            elif token == "}" and depth == 0:
                words = []
        elif token in "{;":
            if token == "{" and "namespace" in words[:2]:
                spaces.append("".join(words[words.index("namespace") + 1:]))
            elif token == "{" and words == ["extern"]:
                spaces.append("extern")
            else:
                name = defined_by(words, token)
                if name and all(spaces):
                    yield "::".join([*spaces, name])
                depth = int(token == "{")
            words = []
        elif token == "}":
            spaces and spaces.pop()
        else:
            words.append(token)

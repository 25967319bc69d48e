#!/usr/bin/env python3
"""The check of the module map goes red for each rule that it guards."""
import contextlib
import io
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

from harness import programs

CHECK = pathlib.Path(__file__).resolve().parents[2] / "cmake/module_map.py"
sys.path.append(str(CHECK.parent))
import module_map  # noqa: E402
HEADER = "// What it is.\n#pragma once\n"
LIBRARY = "halograph_library({} SOURCES {} DEPS halograph::{})\n"


class ModuleMapTest(unittest.TestCase):
    """Every case adds one fault to a small tree that keeps the map."""

    def setUp(self):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="halograph-test-"))
        self.addCleanup(shutil.rmtree, self.root)
        self.write("common/base/status.h", HEADER)
        self.write("common/graph/schema.h", HEADER + '#include "common/base/status.h"\n')
        self.write("client/graph_store.h", HEADER + '#include "common/graph/schema.h"\n')
        self.write("client/remote/rpc.cc", '#include "halograph/v1/graph.pb.h"\n'
                                           '#include "client/graph_store.h"\n'
                                           "#include <grpcpp/channel.h>\n")
        self.write("client/remote/CMakeLists.txt",
                   LIBRARY.format("client_remote", "rpc.cc", "proto"))
        self.write("tests/unit/graph/graph_test.cc", '#include "common/graph/schema.h"\n')
        self.write("tests/unit/graph/CMakeLists.txt", "halograph_test(x SOURCES graph_test.cc)\n")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self):
        """The exit code, and what was printed."""
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            code = module_map.main([str(self.root)])
        return code, printed.getvalue()

    def expect_error(self, *parts, errors=1):
        code, printed = self.check()
        self.assertEqual(1, code, printed)
        for part in parts:
            self.assertIn(part, printed)
        self.assertIn(f" {errors} errors", printed)

    def test_a_tree_that_keeps_the_map_passes(self):
        result = subprocess.run([sys.executable, CHECK, self.root], capture_output=True, text=True, timeout=300)
        self.assertEqual((0, ""), (result.returncode, result.stderr), result.stdout)

    def test_include_of_a_module_above(self):
        self.write("common/graph/bad.h", HEADER + '#include "client/graph_store.h"\n')
        self.expect_error("common/graph/bad.h:3", "may not include client/graph_store.h")

    def test_include_of_a_floor_above(self):
        self.write("common/base/bad.h", HEADER + '#include "common/graph/schema.h"\n')
        self.expect_error("common/base/bad.h:3", "common/base may not include")

    def test_generated_messages_outside_the_folders_that_speak_to_servers(self):
        self.write("client/local/bad.h", HEADER + '#include "halograph/v1/kv.pb.h"\n')
        self.expect_error("client/local/bad.h:3", "halograph/v1/kv.pb.h")

    def test_handlers_that_include_a_service(self):
        self.write("server/call.h", HEADER)
        self.write("server/handlers/bad.h", HEADER + '#include "server/call.h"\n')
        self.expect_error("server/handlers may not include server/call.h")

    def test_library_outside_the_folder_that_owns_it(self):
        self.write("server/handlers/bad.h", HEADER + "#include <grpcpp/server.h>\n")
        self.expect_error("server/handlers/bad.h:3", "<grpcpp/server.h>")

    def test_torch_outside_the_trainer(self):
        self.write("client/bad.h", HEADER + "#include <torch/torch.h>\n")
        self.expect_error("client/bad.h:3", "trainer only")

    def test_circle_of_includes(self):
        self.write("common/base/a.h", HEADER + '#include "common/base/b.h"\n')
        self.write("common/base/b.h", HEADER + '#include "common/base/a.h"\n')
        self.expect_error("common/base/a.h -> common/base/b.h -> common/base/a.h")

    def define(self, name, code):
        """A header of client/remote, or a source of its library, with this code in namespace halograph."""
        self.write(f"client/remote/{name}", HEADER + f"namespace halograph {{\n{code}\n}}\n")
        self.write("client/remote/CMakeLists.txt",
                   LIBRARY.format("client_remote", "*.cc", "proto"))

    def test_type_that_two_headers_define(self):
        kinds = ("class {} final : public Base {{}};", "struct {} {{ int x; }};", "using {} = int;",
                 "enum class {} : int {{ kOne }};", "union {} {{ int x; }};",
                 "template <typename T>\nclass HG_LOCK(\"mutex\") {} {{}};")
        names = [f"Twice{number}" for number in range(len(kinds))]
        self.define("a.h", "\n".join(f"struct {name} {{}};" for name in names))
        self.define("b.h", "int F() { return 1; }\n" +
                    "\n".join(kind.format(name) for kind, name in zip(kinds, names)))
        self.expect_error(*(f"halograph::{name} is defined in client/remote/a.h and in client/remote/b.h"
                            for name in names), errors=len(names))

    def test_type_of_a_header_that_a_source_defines_too(self):
        self.define("a.h", "struct Twice {};")
        self.define("b.cc", "struct Twice {};")
        self.expect_error("halograph::Twice", "client/remote/b.cc")

    def test_type_that_two_sources_define(self):
        self.define("a.cc", "struct Twice {};")
        self.define("b.cc", "}\nnamespace halograph {\nstruct Twice {};")
        self.expect_error("halograph::Twice", "client/remote/a.cc")

    def test_types_of_one_name_that_no_linker_merges(self):
        self.define("a.h", "struct Once {};\nstruct Outer { struct Inner {}; };")
        codes = ("namespace {\nstruct Once {};\n}", "namespace other {\nstruct Once {};\n}",
                 "struct Once;", "struct Second { struct Inner {}; };\nstruct Second::Once {};",
                 "// struct Once {};\nconst char* kText = \"struct Once {};\";",
                 "struct Once F(struct Once x) { return x; }",
                 "#if 1\nnamespace {\n#else\nnamespace b {\n#endif\nstruct Once {};\n}")
        for number, code in enumerate(codes):
            self.define(f"b{number}.cc", code)
        code, printed = self.check()
        self.assertEqual(0, code, printed)

    def test_circle_of_rows(self):
        for rows, circle in (
                ({"trainer/launch": ["trainer/tasks"], "trainer/tasks": ["trainer/launch"]},
                 "trainer/tasks -> trainer/launch -> trainer/tasks"),
                ({"client": ["client/*"]}, "client -> client/local -> client")):
            with self.subTest(circle), unittest.mock.patch.dict(module_map.ROWS, rows):
                self.assertEqual([f"a circle of rows of the map: {circle}"], list(module_map.check_rows(None)))
        self.assertEqual([], list(module_map.check_rows(None)))

    def test_include_of_a_file_that_is_not_there(self):
        self.write("common/base/bad.h", HEADER + '#include "status.h"\n')
        self.expect_error("no file status.h")

    def test_folder_without_a_row(self):
        self.write("common/extra/new.h", HEADER)
        self.expect_error("common/extra/new.h", "no row")

    def test_library_target_that_is_not_named_for_its_folder(self):
        self.write("client/remote/CMakeLists.txt", LIBRARY.format("remote", "rpc.cc", "proto"))
        self.expect_error("is named client_remote, not remote")

    def test_link_that_the_map_forbids(self):
        self.write("common/graph/CMakeLists.txt", LIBRARY.format("common_graph", "", "client_remote"))
        self.expect_error("common/graph may not link halograph::client_remote")

    def test_source_that_no_target_compiles(self):
        self.write("tests/unit/graph/forgotten_test.cc", "")
        self.expect_error("tests/unit/graph/forgotten_test.cc", "part of no target")

    def test_fixture_of_another_folder_of_tests(self):
        self.write("tests/unit/graph/fixture.h", HEADER)
        self.write("tests/unit/server/bad.h", HEADER + '#include "tests/unit/graph/fixture.h"\n')
        self.expect_error("belongs to another folder of tests")

    def test_entry_of_the_top_level_that_is_not_listed(self):
        self.write("extra/file.txt", "")
        self.expect_error("extra: not an entry of the top level")

    def test_unfinished_work(self):
        self.write("common/base/bad.h", HEADER + "// TO" + "DO\n")
        self.expect_error("common/base/bad.h:3", "unfinished")

    def test_stream_of_a_device_outside_the_folder_that_owns_them(self):
        self.write("common/base/bad.h", HEADER + "// As c10::" + "Stream.\n")
        self.expect_error("common/base/bad.h:3", "is named in trainer/device only")

    def test_path_of_one_machine(self):
        self.write("README.md", "cd /ho" + "me/me/graphs\n")
        self.expect_error("README.md:1", "absolute path")

    def test_readme_that_is_too_long(self):
        self.write("README.md", "line\n" * 151)
        self.expect_error("README.md: 151 lines")

    def test_header_without_a_comment(self):
        self.write("common/base/bad.h", "#pragma once\n")
        self.expect_error("common/base/bad.h", "begins with a comment")

    def test_script_without_its_run_bit(self):
        self.write("deploy/start.sh", "#!/bin/sh\n")
        self.expect_error("deploy/start.sh", "run bit")


if __name__ == "__main__":
    programs.main()

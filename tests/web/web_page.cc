// Makes the page of an operator, for tests in a browser.
//   web_page            reads on standard input what /status?cluster or a trainer's /status
//   answers, and
//                       writes the page
//   web_page PATH       writes the file at this path of the page, such as /ui/app.js
//   web_page --paths    writes a line for each of these: path, a space, content type
//   web_page --policy   writes the page's Content-Security-Policy
#include <iostream>
#include <iterator>
#include <string>
#include <string_view>

#include "common/http/http_message.h"
#include "common/storage/json.h"
#include "common/ui/assets.h"
#include "common/ui/render.h"
#include "common/ui/status_reader.h"

namespace halograph::ui {
namespace {

int WriteAsset(std::string_view path) {
  for (const Asset& asset : Assets()) {
    if (asset.path == path) {
      std::cout << asset.bytes;
      return 0;
    }
  }
  std::cerr << "web_page: no file " << path << "\n";
  return 2;
}

int WritePage() {
  const std::string text{std::istreambuf_iterator<char>(std::cin),
                         std::istreambuf_iterator<char>()};
  const StatusOr<Json> status = ParseJson(text, "standard input");
  if (!status.ok()) {
    std::cerr << "web_page: " << status.status().message() << "\n";
    return 1;
  }
  std::cout << RenderPage(ReadUiData(*status));
  return 0;
}

int Main(std::string_view word) {
  if (word.empty()) return WritePage();
  if (word == "--policy") {
    std::cout << kContentSecurityPolicy;
    return 0;
  }
  if (word == "--paths") {
    for (const Asset& asset : Assets())
      std::cout << asset.path << " " << asset.content_type << "\n";
    return 0;
  }
  return WriteAsset(word);
}

}  // namespace
}  // namespace halograph::ui

int main(int argc, char** argv) { return halograph::ui::Main(argc > 1 ? argv[1] : ""); }

# Writes the source that holds the files of the page, for assets.h.
#   cmake -DSOURCE=<this folder> -DOUTPUT=<assets.cc> -P assets.cmake
set(css "text/css; charset=utf-8")
set(svg "image/svg+xml")
set(js "text/javascript; charset=utf-8")
set(mark "halograph_asset")  # ends no line of the files

function(read_literal file result)
  file(READ "${SOURCE}/${file}" text)
  string(FIND "${text}" ")${mark}\"" found)
  if(NOT found EQUAL -1)
    message(FATAL_ERROR "${file} holds the mark that ends its literal: )${mark}\"")
  endif()
  set(${result} "R\"${mark}(${text})${mark}\"" PARENT_SCOPE)
endfunction()

set(table "")
foreach(file app.css app.js charts.js icon.svg samples.js)
  string(REGEX REPLACE ".*\\." "" kind "${file}")
  read_literal(${file} literal)
  string(APPEND table "    {\"/ui/${file}\", \"${${kind}}\",\n     ${literal}},\n")
endforeach()
read_literal(page.html page)
file(WRITE "${OUTPUT}" "// Made by common/ui/assets.cmake.
#include \"common/ui/assets.h\"

#include <array>

namespace halograph::ui {

std::span<const Asset> Assets() {
  static constexpr auto kAssets = std::to_array<Asset>({
${table}  });
  return kAssets;
}

std::string_view PageShell() {
  return ${page};
}

}  // namespace halograph::ui
")

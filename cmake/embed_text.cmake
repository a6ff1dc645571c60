# Writes a header with the texts of files, for code that reads them at run time:
#   cmake -DFILES=a.comp,b.comp -DNAMESPACE=felsite::bench::peers -DHEADER=peers.h -P embed_text.cmake
string(REPLACE "," ";" files "${FILES}")
set(header "#pragma once\n\n#include <string_view>\n\nnamespace ${NAMESPACE} {\n")
foreach(file IN LISTS files)
  cmake_path(GET file STEM name)
  file(READ ${file} text)
  string(APPEND header "\ninline constexpr std::string_view ${name} = R\"text(${text})text\";\n")
endforeach()
string(APPEND header "\n}  // namespace ${NAMESPACE}\n")
file(WRITE ${HEADER} "${header}")

//===- Page.cpp - the page of sinter-inspect view -------------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//
#include "compiler/inspect/page/Page.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/Compression.h"

using namespace sinter;
using namespace sinter::compiler;
using llvm::StringRef;

// Made by EmbedPage.cmake. page.html has lines "<!--styles-->",
// "<!--scripts-->" and "<!--data-->", which the parts replace.
extern const char *const kPageHtml;
extern const char *const kPageStyles;
extern const char *const kPageScripts;

static std::string escapedHtml(StringRef text) {
  std::string result;
  for (char c :
       llvm::json::isUTF8(text) ? text.str() : llvm::json::fixUTF8(text))
    switch (c) {
    case '<':
      result += "&lt;";
      break;
    case '>':
      result += "&gt;";
      break;
    case '&':
      result += "&amp;";
      break;
    default:
      result += c;
    }
  return result;
}

void compiler::writePage(const PageContent &content, StringRef title,
                         llvm::raw_ostream &os) {
  std::string json;
  llvm::raw_string_ostream text(json);
  writePageData(content, text);
  llvm::SmallVector<uint8_t, 0> bytes;
  llvm::compression::zlib::compress(llvm::arrayRefFromStringRef(json), bytes,
                                    /*Level=*/9);
  // Text of a model gets into the page only as base64, or escaped.
  StringRef rest = kPageHtml;
  while (!rest.empty()) {
    auto [before, after] = rest.split("<!--");
    os << before;
    auto [name, behind] = after.split("-->");
    if (name == "title")
      os << escapedHtml(title);
    else if (name == "styles")
      os << "<style>\n" << kPageStyles << "</style>";
    else if (name == "scripts")
      os << "<script>\n" << kPageScripts << "</script>";
    else if (name == "data")
      os << "<script type=\"application/octet-stream\" id=\"data\">"
         << llvm::encodeBase64(bytes) << "</script>";
    rest = behind;
  }
}

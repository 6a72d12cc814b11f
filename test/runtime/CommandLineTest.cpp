//===- CommandLineTest.cpp - the form of a command line -------------------===//
//
// Part of Sinter, under Apache-2.0 WITH LLVM-exception.
//
//===----------------------------------------------------------------------===//

#include "runtime/base/CommandLine.h"

#include <catch2/catch.hpp>

using namespace sinter::rt;

namespace {

constexpr OptionForm forms[] = {{"-o,--output", "OUT"},
                                {"--quiet", ""},
                                {"--resume", "PATH", true},
                                {"--freeze", "REGEX", false, true},
                                {"-O", "0..3"}};

/// "--output=x;others" or the error.
std::string read(std::vector<std::string_view> arguments) {
  Result<FoundArguments> found = readCommandLine(arguments, forms);
  if (!found.ok())
    return found.status().message();
  std::string text;
  for (auto [form, value] : found->options)
    text +=
        std::string(optionName(forms[form])) + "=" + std::string(value) + ";";
  for (std::string_view other : found->others)
    text += "[" + std::string(other) + "]";
  return text;
}

} // namespace

TEST_CASE("options are given in each of their forms", "[options]") {
  for (const char *argument : {"--output=a", "-oa"})
    CHECK(read({argument}) == "--output=a;");
  CHECK(read({"--output", "a", "m"}) == "--output=a;[m]");
  CHECK(read({"-o", "-a"}) == "--output=-a;");
  CHECK(read({"-O2", "--output="}) == "-O=2;--output=;");
  CHECK(read({"--resume", "x"}) == "--resume=;[x]");
  CHECK(read({"--resume=x"}) == "--resume=x;");
  CHECK(read({"--freeze=a", "--freeze=b"}) == "--freeze=a;--freeze=b;");
  CHECK(read({"-", "--", "--quiet"}) == "[-][--quiet]");
}

TEST_CASE("mistakes in a command line get one line", "[options]") {
  CHECK(read({"--quit"}) == "unknown option '--quit'; did you mean '--quiet'?");
  CHECK(read({"-q"}) == "unknown option '-q'; did you mean '-o'?");
  CHECK(read({"--zzzzzzzzz=1"}) ==
        "unknown option '--zzzzzzzzz'; --help lists the options");
  CHECK(read({"---"}).find("unknown option '---'") == 0);
  CHECK(read({"--quiet=1"}) == "--quiet: takes no value");
  CHECK(read({"-o"}) == "--output: needs a value, --output=OUT");
  CHECK(read({"-O"}) == "-O: needs a value, -O 0..3");
  CHECK(read({"--output=a", "-ob"}) == "--output: given twice");
  CHECK(read({"--a\x1b[2J"}).find('\x1b') == std::string::npos);
  CHECK(read({""}) == "[]");
}

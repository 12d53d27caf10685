// libFuzzer: any bytes at all are stripped within the room and the work that wikitext.hpp promises,
// and what was UTF-8 stays UTF-8. See README.md here.
#include "../../cpp/text/wikitext.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace {

/// Whether the bytes are well-formed UTF-8 (no surrogates, nothing longer than needed).
bool is_utf8(std::string_view text) {
  for (std::size_t i = 0; i < text.size();) {
    auto const byte = [&](std::size_t j) { return static_cast<std::uint8_t>(text[j]); };
    std::size_t const tail = byte(i) < 0x80    ? 0
                             : byte(i) < 0xC2  ? 9
                             : byte(i) < 0xE0  ? 1
                             : byte(i) < 0xF0  ? 2
                             : byte(i) <= 0xF4 ? 3
                                               : 9;
    if (tail > 3 || text.size() - i <= tail) return false;
    for (std::size_t j = 1; j <= tail; ++j)
      if ((byte(i + j) & 0xC0) != 0x80) return false;
    if ((byte(i) == 0xE0 && byte(i + 1) < 0xA0) || (byte(i) == 0xED && byte(i + 1) > 0x9F) ||
        (byte(i) == 0xF0 && byte(i + 1) < 0x90) || (byte(i) == 0xF4 && byte(i + 1) > 0x8F))
      return false;
    i += tail + 1;
  }
  return true;
}

void demand(bool what, char const* said) {
  if (what) return;
  std::fprintf(stderr, "broken promise: %s\n", said);
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static sgmc::text::Wiki const wiki{
      {"file", "image", "datei"},
      {"category", "kategorie"},
      {{"nbsp", " "}, {"shy", ""}, {"ndash", "–"}, {"lt", "<"}, {"amp", "&"}}};
  std::string_view const source(reinterpret_cast<char const*>(data), size);
  std::unique_ptr<char[]> const out(new char[size]);  // exactly: one byte more is a report
  std::size_t work = 0;
  std::size_t const written = sgmc::text::strip(wiki, source, out.get(), work);
  demand(written <= size, "never longer than the source");
  demand(work <= 32 * size, "at most 32 looks at a byte");
  std::string_view const text(out.get(), written);
  if (is_utf8(source)) demand(is_utf8(text), "UTF-8 stays UTF-8");
  if (source.find_first_of("{}[]<>&'|\n:_=*#;- \t\r") == source.npos)
    demand(text == source, "text without marks is left alone");
  return 0;
}

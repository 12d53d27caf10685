// What Unicode says of characters, as far as words need it.
#pragma once

#include <array>
#include <cstdint>

namespace sgmc::text {

/// How a character goes into words.
enum class Role : std::uint8_t {
  separator,  // not at all
  letter,
  ideograph,  // words are pairs
  hiragana,   // a run of one of these two is a word
  katakana,
  several,  // its folding is several characters; those that are no word characters are blanks
};

struct Character {
  std::uint8_t size;           // of `folded`
  std::uint8_t composes;       // whether normalisation may change it, or what is before it
  Role role;                   // of the folded character
  std::array<char, 5> folded;  // casefolded, in UTF-8
};

inline constexpr std::uint32_t kPageSize = 256, kPages = 0x110000 / kPageSize;
using Page = std::array<Character, kPageSize>;

}  // namespace sgmc::text

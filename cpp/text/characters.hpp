// Unicode properties of characters that matter for words.
#pragma once

#include <array>
#include <cstdint>

namespace sgmc::text {

/// How a character contributes to words.
enum class Role : std::uint8_t {
  separator,
  letter,
  ideograph,  // words are pairs of these
  hiragana,   // a run of either kind is a word
  katakana,
  several,  // its folded form is several letters or blanks
  ignored,  // invisible: its neighbours count as adjacent
  mark,     // belongs to the preceding letter
  vowel,    // a mark that counts as a character of its word, as vowel signs do
};

/// Value of `Character::order` for characters that composition may change.
inline constexpr std::uint8_t kComposes = 255;

struct Character {
  std::uint8_t size;           // of `folded`
  std::uint8_t order;          // canonical combining class, or `kComposes`
  Role role;                   // role of the folded character
  std::array<char, 5> folded;  // casefolded, in UTF-8
};

inline constexpr std::uint32_t kPageSize = 256, kPages = 0x110000 / kPageSize;
using Page = std::array<Character, kPageSize>;

}  // namespace sgmc::text

// Removes MediaWiki markup and keeps prose; strings in, strings out.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace sgmc::text {

/// Allows looking up a view in maps of strings, without a copy.
struct StringHash : std::hash<std::string_view> {
  using is_transparent = void;
};
using Names = std::unordered_set<std::string, StringHash, std::equal_to<>>;
using Entities = std::unordered_map<std::string, std::string, StringHash, std::equal_to<>>;

/// What differs between wikis. ASCII names are in lower case.
struct Wiki {
  Names files;        ///< namespaces of links to pictures: "file", "image", "datei", ...
  Names categories;   ///< namespaces of links that are not shown in the text
  Entities entities;  ///< name -> UTF-8; each at most as long as "&name;"
};

/// Writes the prose of a page to `out`, which has room for `source.size()` bytes, and returns the
/// number of bytes written. The number of bytes read, with repeats, is added to `work`: at most 32
/// times `source.size()`. Any bytes are legal; valid UTF-8 stays valid.
///
/// One pass. Output under an open construct is taken back when that construct turns out to be a
/// template, a table or a picture: its closing mark moves the end of `out` back to its begin. So
/// nothing is ever parsed twice, nothing recurs, and an unclosed construct never disappears.
std::size_t strip(Wiki const& wiki, std::string_view source, char* out, std::size_t& work);

}  // namespace sgmc::text

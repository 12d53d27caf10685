// Rows of numbers for output: their decimal text, and their greatest values in order.
#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <utility>

#include "sgmc/drivers.hpp"

namespace sgmc {
namespace {

constexpr double kTens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                            1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
constexpr double kTenths[] = {1e0,  1e-1, 1e-2,  1e-3,  1e-4,  1e-5,  1e-6, 1e-7,
                              1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13, 1e-14};

/// The decimal digits of 0 to 99, two per number.
constexpr std::array<char, 200> kPairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

/// Writes x as the C library's "%.7g" does.
char* exactly(double x, char* out) {
  return std::to_chars(out, out + kDecimal, x, std::chars_format::general, 7).ptr;
}

/// Writes x as `exactly` does. For x in [1e-14, 1), x times a power of ten that is exact as a
/// double is below 1e7, with an error below 1e-8. Its nearest integer therefore has the seven
/// digits, unless x is that close to the middle between two integers.
char* seven_digits(double x, char* out) {
  if (!(x >= 1e-14 && x < 1.0)) return exactly(x, out);
  int const binary = static_cast<int>(std::bit_cast<std::uint64_t>(x) >> 52) - 1023;
  int down = -((binary * 1233) >> 12);  // floor(log10 x) is -down or -down + 1
  if (x >= kTenths[down - 1]) --down;
  double const scaled = x * kTens[6 + down];
  auto digits = static_cast<std::uint32_t>(scaled);
  double const rest = scaled - digits;
  if (std::abs(rest - 0.5) < 1e-6) return exactly(x, out);
  if (rest > 0.5) ++digits;
  if (digits >= 10000000) {
    digits /= 10;
    --down;
  }
  if (down == 0) {  // the number was rounded to 1
    *out++ = '1';
    return out;
  }
  char text[8];  // a zero, and seven digits
  std::uint32_t const pairs[] = {digits / 1000000, digits / 10000 % 100, digits / 100 % 100,
                                 digits % 100};
  for (int i = 0; i < 4; ++i) std::memcpy(text + 2 * i, kPairs.data() + 2 * pairs[i], 2);
  char const* const first = text + 1;
  int length = 7;
  while (first[length - 1] == '0') --length;
  if (down <= 4) {
    std::memcpy(out, "0.000", 5);
    out += 1 + down;
    std::memcpy(out, first, 7);
    return out + length;
  }
  *out++ = first[0];
  if (length > 1) {
    *out++ = '.';
    std::memcpy(out, first + 1, 6);
    out += length - 1;
  }
  *out++ = 'e';
  *out++ = '-';
  *out++ = static_cast<char>('0' + down / 10);
  *out++ = static_cast<char>('0' + down % 10);
  return out;
}

/// An integer with the same order as x, even for NaN; -0 counts as 0.
std::uint64_t order_of(double x) {
  auto const bits = std::bit_cast<std::uint64_t>(x + 0.0);
  return bits >> 63 ? ~bits : bits | (std::uint64_t{1} << 63);
}

}  // namespace

std::size_t write_decimals(double const* values, std::int64_t n, std::string_view separator,
                           bool point, char* out) {
  char* end = out;
  for (std::int64_t i = 0; i < n; ++i) {
    if (i > 0) end = std::copy(separator.begin(), separator.end(), end);
    char* const begin = end;
    end = seven_digits(values[i], begin);
    bool const whole =
        std::all_of(begin, end, [](char c) { return c == '-' || (c >= '0' && c <= '9'); });
    if (point && whole) {
      *end++ = '.';
      *end++ = '0';
    }
  }
  return static_cast<std::size_t>(end - out);
}

void find_greatest(double const* values, std::int64_t rows, std::int64_t n, std::int64_t top,
                   std::int32_t* out) {
  std::vector<std::pair<std::uint64_t, std::int32_t>> row(static_cast<std::size_t>(n));
  for (std::int64_t i = 0; i < rows; ++i, values += n, out += top) {
    for (std::int64_t k = 0; k < n; ++k)
      row[static_cast<std::size_t>(k)] = {~order_of(values[k]), static_cast<std::int32_t>(k)};
    if (4 * top < n)
      std::partial_sort(row.begin(), row.begin() + top, row.end());
    else
      std::sort(row.begin(), row.end());
    for (std::int64_t k = 0; k < top; ++k) out[k] = row[static_cast<std::size_t>(k)].second;
  }
}

}  // namespace sgmc

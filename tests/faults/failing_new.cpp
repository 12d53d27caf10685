// Preloaded by short_of_memory.py: operator new fails at the nth call of some size after
// fail_at(n). Smaller ones are left alone: pybind11 and the C++ library end the process when they
// get no few bytes, and so does everybody else.
#include <atomic>
#include <cstdlib>
#include <new>

namespace {
std::atomic<long> left{-1};

void* take(std::size_t size, std::size_t alignment) {
  if (size >= 64 && left.load() >= 0 && left.fetch_sub(1) == 0) throw std::bad_alloc();
  std::size_t const rounded = (size + alignment - 1) / alignment * alignment;
  void* const p = std::aligned_alloc(alignment, rounded ? rounded : alignment);
  if (!p) throw std::bad_alloc();
  return p;
}
}  // namespace

extern "C" void fail_at(long n) { left = n; }
extern "C" int has_failed() { return left.load() < 0; }

void* operator new(std::size_t n) { return take(n, 16); }
void* operator new[](std::size_t n) { return take(n, 16); }
void* operator new(std::size_t n, std::align_val_t a) { return take(n, std::size_t(a)); }
void* operator new[](std::size_t n, std::align_val_t a) { return take(n, std::size_t(a)); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }
void operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::align_val_t) noexcept { std::free(p); }
void operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

// Purposes of random numbers. Two uses never share a number. Numbers are never reused or changed,
// because they affect every result and the checkpoint format.
#pragma once

#include <cstdint>

namespace sgmc {

enum class Purpose : std::uint32_t {
  init = 1,               // starting values of a state; entity = word row
  documents = 2,          // topics of tokens in training; entity = document in the corpus
  scir_pass = 3,          // CIR transition, first pass: zero Poisson counts, small gammas
  scir_small_gamma = 4,   // ... small gammas that were not accepted at once
  scir_poisson = 5,       // ... Poisson counts
  scir_gamma = 6,         // ... gammas of shape >= 1
  sgrld_noise = 7,        // Langevin noise; entity = first row of a block of 64
  scir_log = 8,           // CIR transition on log-space state
  epoch_order = 9,        // permutation of the training documents
  holdout_choice = 10,    // choice of held-out documents
  holdout_split = 11,     // choice of observed tokens in them
  evaluation = 12,        // topics of observed tokens, for the running average
  point_evaluation = 13,  // topics of observed tokens, for the current topics
  infer = 14,             // topics of new documents
  minibatch_choice = 15,  // observations of a minibatch drawn with replacement
  scale_refresh = 16,     // S_k in tests of exactness
  catch_up_pass = 17,     // the same four as 3 to 6, for a row brought up to date
  catch_up_small_gamma = 18,
  catch_up_poisson = 19,
  catch_up_gamma = 20,
  look_pass = 21,  // ... for a copy of it, so that reading never changes the chain
  look_small_gamma = 22,
  look_poisson = 23,
  look_gamma = 24,
  stream_order = 25,  // choice of the documents in a shuffle buffer that form a minibatch
  tlasgr_noise = 26,  // as 7, of the Wright-Fisher step; entity = first row of a block of 64
  smld_noise = 27,    // as 7, of the mirrored step
  shape_noise = 28,   // Langevin noise of gamma shapes (r of deep LDA); ordinal = topic
  shape_gibbs = 29,   // conjugate draws of r, gamma0 and c0
  slices = 30,        // slice variables of a mixture; entity = document; ordinal 1: births, deaths
  stick_noise = 31,   // Langevin noise of its sticks, entity = component; which law of c, entity
                      // 2^40; label swaps, from 2^41; births and deaths, 2^42
  toy_noise = 32,     // pysgrld.samplers.targets.simplex, pysgrld.samplers.targets.sphere; entity =
                      // iteration, ordinal = chain and coordinate
  sphere_noise = 33,  // noise of points on spheres; entity = first row of a block of 64, part 2^32
  sphere_accept = 34,   // whether a trajectory of points is accepted; entity = 0
  alpha_evidence = 35,  // tables and betas of documents, the statistics of alpha; entity = document
  eta_slice = 36,       // slice sampling of eta; entity = 0
  walk_noise = 37,      // Langevin noise of words that walk through time slices; entity = word
  walk_accept = 38,     // whether a step of such a word is accepted
  sgrhmc_noise = 39,    // as 7, of momenta
  test = 255,
};

/// Gives each block of a model its own random numbers: purpose + 256 stream.
constexpr std::uint32_t stream_purpose(Purpose p, std::uint32_t stream) {
  return static_cast<std::uint32_t>(p) + 256u * stream;
}

}  // namespace sgmc

library(sgmc)
folder <- system.file("extdata", package = "sgmc")
run <- read_run(folder)
stopifnot(
  is.logical(run$documents$held_out), is.integer(run$documents$tokens), is.integer(run$topics$topic),
  nrow(run$words) == 8 * nrow(run$topics), abs(rowSums(theta(run)) - 1) < 1e-5
)
effects <- read_effects(file.path(folder, "effects.csv"))
stopifnot(is.integer(effects$surely), is.numeric(effects$p_column))
missing <- tryCatch(read_run(tempdir()), error = conditionMessage)
stopifnot(grepl("no such file", missing))
absent <- tryCatch(sgmc("--version", command = "no-such-command"), error = conditionMessage)
stopifnot(grepl("pip install pysgrld", absent))

library(sgmc)
folder <- system.file("extdata", package = "sgmc")
run <- read_run(folder)
stopifnot(
  is.logical(run$documents$held_out), is.integer(run$documents$tokens), is.integer(run$topics$topic),
  nrow(run$words) == 8 * nrow(run$topics), abs(rowSums(theta(run)) - 1) < 1e-5
)
effects <- read_effects(file.path(folder, "effects.csv"))
stopifnot(is.integer(effects$surely), is.numeric(effects$p_column))
# Red with: ids that lose their zeros, categories that become flags.
small <- tempfile(fileext = ".csv")
writeLines(c("id,from,surely,flag", "007,true,1,true", "12345678901234567890,false,0,false"), small)
read <- sgmc:::.read_table(small)
stopifnot(read$id == c("007", "12345678901234567890"), read$from == c("true", "false"),
          is.integer(read$surely), read$flag == c(TRUE, FALSE))
missing <- tryCatch(read_run(tempdir()), error = conditionMessage)
stopifnot(grepl("no such file", missing))
absent <- tryCatch(sgmc("--version", command = "no-such-command"), error = conditionMessage)
stopifnot(grepl("pip install pysgrld", absent))

# Values that a file has for TRUE and FALSE.
.logical <- c("true", "false")

# Columns of text, also if all their values look like numbers or flags.
.text <- c("id", "word", "label", "name", "column", "from", "to")

# Read a CSV file of sgmc; flags are logical, whole numbers integer, and text has no quote sign
# that guards it from spreadsheets.
.read_table <- function(file) {
  if (!file.exists(file)) {
    stop(file, ": no such file; write it with sgmc export --to csv", call. = FALSE)
  }
  heads <- names(read.csv(file, check.names = FALSE, nrows = 1))
  table <- read.csv(file, check.names = FALSE, stringsAsFactors = FALSE, encoding = "UTF-8",
                    na.strings = "", colClasses = ifelse(heads %in% .text, "character", NA))
  for (name in names(table)) {
    values <- table[[name]]
    if (is.character(values)) {
      known <- tolower(values[!is.na(values)])
      table[[name]] <- if (!name %in% .text && length(known) && all(known %in% .logical)) {
        tolower(values) == "true"
      } else {
        sub("^'([=+@-])", "\\1", values)
      }
    }
  }
  table
}

sgmc <- function(..., command = getOption("sgmc.command", "sgmc")) {
  words <- as.character(c(...))
  if (Sys.which(command) == "") {
    stop(command, ": no such command; install it with pip install pysgrld, or set ",
         "options(sgmc.command = PATH)", call. = FALSE)
  }
  errors <- tempfile("sgmc-")
  on.exit(unlink(errors))
  lines <- suppressWarnings(system2(command, shQuote(words), stdout = TRUE, stderr = errors))
  status <- attr(lines, "status")
  messages <- readLines(errors, warn = FALSE)
  if (!is.null(status) && status != 0) {
    stop(paste(c(messages, paste("exit code", status)), collapse = "\n"), call. = FALSE)
  }
  for (line in messages) message(line)
  invisible(as.character(lines))
}

read_run <- function(path, top = 30, ...) {
  folder <- path
  if (file.exists(file.path(path, "config.json"))) {
    folder <- tempfile("sgmc-tables-")
    on.exit(unlink(folder, recursive = TRUE))
    sgmc("export", path, "--to", "csv", "--top", top, "-o", folder, "-q", ...)
  }
  run <- list(
    path = path,
    topics = .read_table(file.path(folder, "topics.csv")),
    words = .read_table(file.path(folder, "topic-words.csv")),
    documents = .read_table(file.path(folder, "documents.csv"))
  )
  structure(run, class = "sgmc_run")
}

theta <- function(run) {
  stopifnot(inherits(run, "sgmc_run"))
  columns <- paste0("topic_", run$topics$topic)
  if (!all(columns %in% names(run$documents))) {
    stop(run$path, ": the table of documents has no column for each topic; export it without ",
         "--sparse", call. = FALSE)
  }
  shares <- as.matrix(run$documents[columns])
  dimnames(shares) <- list(run$documents$id, run$topics$label)
  shares
}

read_effects <- function(file) {
  structure(.read_table(file), class = c("sgmc_effects", "data.frame"))
}

run_effects <- function(run, formula, metadata = NULL, reference = NULL, ...) {
  files <- tempfile(c("sgmc-effects-", "sgmc-columns-"), fileext = ".csv")
  on.exit(unlink(files))
  words <- c("effect", run, paste(deparse(formula), collapse = " "), "-o", files[1], "-q", ...)
  if (!is.null(metadata)) {
    if (is.data.frame(metadata)) {
      utils::write.csv(metadata, files[2], row.names = FALSE, na = "")
      metadata <- files[2]
    }
    words <- c(words, "--metadata", metadata)
  }
  if (!is.null(reference)) words <- c(words, "--reference", reference)
  sgmc(words)
  read_effects(files[1])
}

print.sgmc_run <- function(x, n = 6, ...) {
  cat(x$path, ": ", nrow(x$topics), " topics, ", nrow(x$documents), " documents\n", sep = "")
  for (i in order(-x$topics$share)) {
    words <- x$words[x$words$topic == x$topics$topic[i], ]
    words <- utils::head(words$word[order(words$rank)], n)
    cat(sprintf("%4d  %5.1f %%  %s\n", x$topics$topic[i], 100 * x$topics$share[i],
                paste(words, collapse = " ")))
  }
  invisible(x)
}

# Draw values with whiskers, the first at the top; labels are on the left.
.draw_whiskers <- function(mean, low, high, labels, xlab, colour, zero, ...) {
  y <- rev(seq_along(mean))
  ends <- range(c(mean, low, high, if (zero) 0), na.rm = TRUE)
  old <- par(mar = c(4, min(16, 1 + 0.55 * max(nchar(labels))), 2, 1))
  on.exit(par(old))
  plot(mean, y, type = "n", xlim = ends, yaxt = "n", ylab = "", xlab = xlab, ...)
  if (zero) abline(v = 0, col = "grey60")
  segments(low, y, high, y, col = colour)
  points(mean, y, pch = 19, col = colour)
  axis(2, y, labels, las = 1, tick = FALSE, cex.axis = 0.8)
}

plot.sgmc_run <- function(x, n = nrow(x$topics), ...) {
  topics <- utils::head(x$topics[order(-x$topics$share), ], n)
  .draw_whiskers(100 * topics$share, 100 * topics$low, 100 * topics$high, topics$label,
                 "share of the tokens, %", "black", FALSE, ...)
  invisible(x)
}

plot.sgmc_effects <- function(x, column = x$column[1], from = NULL, to = NULL, n = 20, ...) {
  chosen <- x[x$column == column, ]
  if (is.null(from)) from <- chosen$from[1]
  chosen <- chosen[chosen$from == from, ]
  if (is.null(to)) to <- chosen$to[1]
  chosen <- chosen[chosen$to == to, ]
  if (!nrow(chosen)) {
    stop("no comparison of ", column, " from ", from, " to ", to, call. = FALSE)
  }
  chosen <- utils::head(chosen[order(-abs(chosen$difference)), ], n)
  .draw_whiskers(100 * chosen$difference, 100 * chosen$low, 100 * chosen$high, chosen$name,
                 "difference, percentage points", ifelse(chosen$surely == 0, "grey50", "black"),
                 TRUE, main = paste0(column, ": ", to, " less ", from), ...)
  invisible(x)
}

"""The fault matrix: possible faults, and what must hold when they occur.

Tests name a row by its number.
"""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A kind of fault.

    Attributes
    ----------
    fault, expected : str
    later : str
        Why there is no test yet; empty where one is due.
    """

    fault: str
    expected: str
    later: str = ""


ROWS: dict[int, Row] = {
    1: Row(
        "SIGKILL at any time", "nothing acknowledged is lost; the finished run has the same bits"
    ),
    2: Row(
        "SIGKILL at each point of the protocol", "the old checkpoint or the new, never a mixture"
    ),
    3: Row("SIGKILL while old checkpoints are deleted", "a good checkpoint remains"),
    4: Row(
        "SIGKILL while a run returns to its checkpoint",
        "the next start does it again; no line twice, none missing",
    ),
    5: Row("SIGKILL of one rank", "all ranks end; intact"),
    6: Row("exception in one rank", "all ranks end at once, and it is named"),
    7: Row(
        "power failure: anything never flushed is gone, in any mixture",
        "the newest acknowledged checkpoint is there at every moment",
    ),
    8: Row(
        "SIGUSR1, SIGTERM, SIGINT or SIGXCPU at any iteration",
        "the iteration is finished, checkpoint, exit 85",
    ),
    9: Row("second Ctrl-C while a checkpoint is written", "exit 130; intact"),
    10: Row("a thousand signals at once", "one checkpoint, exit 85"),
    11: Row("SIGUSR2 all the time", "checkpoints; the result is the same"),
    12: Row("signal to one rank alone", "all ranks stop after the same iteration"),
    13: Row("--time-limit", "exit 85 before it has passed"),
    14: Row("SLURM's time limit, requeue, job array", "finished after requeues, the same bits"),
    15: Row(
        "started again and again without progress", "the third start ends with 88 and states why"
    ),
    16: Row("suspended for ten seconds", "the time limit holds; the gap is logged and not counted"),
    17: Row(
        "disk full at a byte of a checkpoint",
        "nothing of it is left, the run continues; 74 after three in a row; intact",
    ),
    18: Row(
        "disk full for metrics, log, status or samples",
        "training continues; all is written later, or exit 74 at the end",
    ),
    19: Row(
        "any system call fails, once or for ever",
        "as for a full disk; a file whose fsync failed is never flushed again",
    ),
    20: Row("short writes, interrupted calls", "no visible effect"),
    21: Row("quota exceeded, stale file handle", "as for a full disk"),
    22: Row("read-only folder, or another user's", "73 before the corpus is read"),
    23: Row("the run is removed, or replaced, while it is trained", "74; nothing is made again"),
    24: Row(
        "many starts of one run at the same moment",
        "one trains; the others end with 75 and name host, pid and job",
    ),
    25: Row("a lock left behind", "of this host: taken over; of another: 75, --break-lock"),
    26: Row("an MPI launcher that does not match the library", "exit 64, no file written"),
    27: Row("a reader while checkpoints are written", "never sees a part of one"),
    28: Row("checkpoint cut short", "refused, with the file's name; the one before is used"),
    29: Row("a flipped bit anywhere in a checkpoint", "never accepted"),
    30: Row("headers changed by a grammar", "refused, in bounded time and memory"),
    31: Row("sizes and shapes that overflow or overlap", "refused"),
    32: Row("names that lead elsewhere, links, pipes, devices", "refused, and nothing blocks"),
    33: Row("a pickle instead of a checkpoint", "refused; its code never runs"),
    34: Row("files of a checkpoint missing, exchanged or too many", "refused, or ignored aloud"),
    35: Row("NaN, infinity or negative weights under a valid digest", "76, naming array and index"),
    36: Row("written by a newer sgmc", "76, naming its version"),
    37: Row("checkpoints of earlier releases", "resume, or state why not"),
    38: Row("all checkpoints damaged", "76; never begun again in silence"),
    39: Row("another configuration", "78 with the differences"),
    40: Row("another corpus", "78; a new date alone is no difference"),
    41: Row("another number of threads", "the same bits"),
    42: Row("another number of ranks", "the same bits"),
    43: Row("metrics or samples edited by hand", "76, naming the file"),
    44: Row("the date is set while a run trains", "no effect on limits"),
    45: Row("word ids out of range", "65 with file and line; no memory by what a file claims"),
    46: Row("counts that are no counts", "65 with file and line"),
    47: Row("headers that lie about sizes", "65 with both numbers"),
    48: Row(
        "malformed UTF-8, NUL, BOM, CRLF", "read, or 65 with file and line, or skipped and counted"
    ),
    49: Row("a line without end", "65 at --set max-line"),
    50: Row("empty files, documents and vocabularies", "65 with the cause, or trained"),
    51: Row("compressed bombs", "streamed, within the memory of any other file"),
    52: Row("truncated or damaged compressed files", "65; several members are read whole"),
    53: Row("XML that expands or reaches outside", "65; nothing is expanded or opened"),
    54: Row("XML too deep, too long or cut off", "65, in bounded memory"),
    55: Row("random bytes and mutated inputs to every parser", "no crash, no hang"),
    56: Row("a corpus file shrinks while it is read", "65 or 74, no SIGBUS; intact"),
    57: Row("the plan needs more than --max-memory", "87 before training, with the sum"),
    58: Row("allocation fails", "87 or 70; intact, no lock left"),
    59: Row("ended by the system for want of memory", "as SIGKILL; the next start reports it"),
    60: Row("few descriptors, processes, little stack", "works, or names the limit"),
    61: Row("odd locale, no HOME, closed or broken output", "works; nothing is lost"),
    62: Row("NaN in the state", "86; the last good checkpoint is kept"),
    63: Row("counts beyond 32 bits", "seen, and counted in 64"),
    64: Row("messages beyond the limit of a library", "sent in parts, the same bits"),
    65: Row("five hundred stops and restarts", "the same bits; nothing grows"),
    66: Row(
        "a flipped bit of the sums of topics of one rank",
        "70, naming the rank; no checkpoint has it",
    ),
    67: Row("a rank hangs", "70 after --set rank-timeout on all others; intact"),
    68: Row(
        "a rank sees no corpus, another one, or has an older processor",
        "66 or 78, naming the rank; or a note, and the same bits",
    ),
    69: Row(
        "SIGKILL of one of several shards of a corpus; a shard missing at the merge",
        "66 with the missing ones; the same array again gives the corpus of one process",
    ),
    70: Row(
        "a foreign folder, file or link at the place of a new corpus", "73; nothing is touched"
    ),
    71: Row(
        "a copy to the name of a build, stopped or at work",
        "the build continues; the copy is made, or refused with 75",
    ),
    72: Row("an edited list of words, a text changed anywhere", "another run, or 78 with --out"),
    73: Row("a stored corpus changed on disk", "65, naming the file; --verify sees any byte"),
    74: Row("steps that leave float32, in mid-run", "86 by any sampler; no crash, no hang"),
    75: Row(
        "one of several chains is suspended, or does nothing",
        "a signal and --time-limit end all: it is woken, and killed if it stays silent",
    ),
    76: Row("one of several chains is killed", "the others continue; a line names the signal"),
    77: Row("priors below single precision", "2, or ValueError, before anything is read"),
    78: Row("a record or samples of another form", "76, naming the file"),
    79: Row(
        "arguments of the classes that are no counts or out of range", "ValueError in their words"
    ),
    80: Row(
        "a pipe, a device or a terabyte in place of a file of a run or a corpus",
        "a plain line, or done without; no hang",
    ),
    81: Row("a stored corpus is cut while training starts on it", "65 or 74, no SIGBUS"),
    82: Row(
        "SIGKILL while a stored corpus is written after reading",
        "the next start continues after the reading, to the same corpus",
    ),
}

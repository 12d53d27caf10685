"""A private SLURM cluster on the loopback interface, whose two nodes are this machine."""

from __future__ import annotations

import os
import secrets
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

#: Programs that a cluster needs, from Debian's packages slurmctld, slurmd, slurm-client and munge.
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
NODES = 2

_SETTINGS = """\
ClusterName=sgmc
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.sock
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
SlurmctldPort={port}
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/collector-%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
KillWait=5
MinJobAge=3600
SlurmdParameters=config_overrides
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    """A cluster started by `up` and ended by `down`; SLURM's commands are methods of these names."""

    def __init__(self) -> None:
        # a short name, as that of a socket is limited
        self.folder = Path(tempfile.mkdtemp(prefix="slurm-"))
        self.environment = os.environ | {"SLURM_CONF": str(self.folder / "slurm.conf")}
        self.environment.pop("OMP_NUM_THREADS", None)

    def up(self) -> None:
        """Start munge, the controller and the nodes, and wait until all nodes are idle."""
        folder, host = self.folder, socket.gethostname().split(".")[0]
        (folder / "state").mkdir()
        key = folder / "munge.key"
        key.write_bytes(secrets.token_bytes(1024))
        key.chmod(0o600)
        port, *ports = _free_ports(NODES + 1)
        nodes = "\n".join(
            f"NodeName=n{i} NodeHostname={host} NodeAddr=127.0.0.1 Port={each} CPUs=2 "
            "RealMemory=2000 State=UNKNOWN"
            for i, each in enumerate(ports, 1)
        )
        settings = _SETTINGS.format(folder=folder, host=host, port=port, nodes=nodes)
        (folder / "slurm.conf").write_text(settings)
        files = {"key-file": "key", "socket": "sock", "pid-file": "pid", "seed-file": "seed"}
        munge = [f"--{name}={folder}/munge.{end}" for name, end in files.items()]
        self("munged", "--force", "--num-threads=2", f"--log-file={folder}/munge.log", *munge)
        self("slurmctld")
        for i in range(1, NODES + 1):
            (folder / f"collector-n{i}").mkdir()
            self("slurmd", "-N", f"n{i}")
        self.wait(lambda: self("sinfo", "-h", "-t", "idle", "-o", "%D", fine=True) == str(NODES))

    def down(self) -> None:
        """End all started processes by their pid files, and remove the folder."""
        self("scancel", "--user=root", fine=True)
        self("scontrol", "shutdown", fine=True)
        for _ in range(50):
            if not list(self.folder.glob("slurm*.pid")):
                break
            time.sleep(0.1)
        for file in self.folder.glob("*.pid"):
            subprocess.run(["kill", file.read_text().strip()], check=False)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __call__(self, *command: str, fine: bool = False, cwd: Path | None = None) -> str:
        """Run a command with this cluster's settings, and return its output."""
        done = subprocess.run(
            command, env=self.environment, cwd=cwd, capture_output=True, text=True, timeout=60
        )
        if done.returncode and not fine:
            raise AssertionError(f"{' '.join(command)}: {done.stderr}{self._log()}")
        return done.stdout.strip()

    def _log(self) -> str:
        log = self.folder / "slurmctld.log"
        return "\n" + "\n".join(log.read_text().splitlines()[-20:]) if log.exists() else ""

    def state(self, job: str) -> dict[str, str]:
        """Return the controller's information on a job, or on a job of an array."""
        shown = self("scontrol", "show", "job", "-o", job)
        return dict(part.split("=", 1) for part in shown.split() if "=" in part)

    def wait(self, so, seconds: float = 200):
        """Wait until a condition holds."""
        end = time.monotonic() + seconds
        while not so():
            assert time.monotonic() < end, f"not within {seconds:g} s{self._log()}"
            time.sleep(0.1)


def _free_ports(number: int) -> list[int]:
    held = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    return ports

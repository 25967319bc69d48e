"""Certificates as an operator makes them, by openssl (docs/security.md)."""
import shutil
import subprocess

from harness.tools import tool

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
LOOPBACK = "DNS:localhost,IP:127.0.0.1,IP:::1"


def openssl(folder, *words):
    subprocess.run([tool("openssl", package="openssl"), *words], cwd=folder, check=True, capture_output=True)


def make(folder, name="program", also=LOOPBACK):
    """A new folder for --tls-dir, with a root of its own, a certificate, mostly for this machine's loopback,
    and a list of what is revoked, which is nothing."""
    folder.mkdir()
    openssl(folder, "req", "-x509", *CURVE, "-days", "3650", "-subj", "/CN=test root", "-keyout", "root.key",
            "-out", "ca.crt")
    sign(folder, folder, name, also)
    (folder / "index.txt").touch()
    (folder / "ca.conf").write_text("[ca]\ndefault_ca = it\n[it]\ndatabase = index.txt\ndefault_md = sha256\n",
                                    encoding="utf-8")
    revoke(folder)
    return folder


def another(root, name, also=LOOPBACK):
    """A folder for --tls-dir below `root`, a folder of make(), with a certificate of its root: common name,
    and alternative names as openssl has them."""
    folder = root / name
    folder.mkdir()
    shutil.copy(root / "ca.crt", folder)
    sign(root, folder, name, also)
    return folder


def sign(root, folder, name, also=LOOPBACK):
    openssl(folder, "req", "-new", *CURVE, "-subj", f"/CN={name}", "-addext", f"subjectAltName={also}",
            "-keyout", "tls.key", "-out", "tls.csr")
    openssl(folder, "x509", "-req", "-in", "tls.csr", "-CA", root / "ca.crt", "-CAkey", root / "root.key",
            "-days", "90", "-copy_extensions", "copy", "-out", "tls.crt")


def revoke(root, *folders):
    """A new crl.pem in `root`, whole at every moment, that has the certificates of these folders, too."""
    ca = ("ca", "-config", "ca.conf", "-keyfile", "root.key", "-cert", "ca.crt")
    for folder in folders:
        openssl(root, *ca, "-revoke", folder / "tls.crt")
    openssl(root, *ca, "-gencrl", "-crldays", "30", "-out", "crl.new")
    (root / "crl.new").rename(root / "crl.pem")

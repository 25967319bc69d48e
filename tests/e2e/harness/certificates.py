"""Certificates as an operator makes them, by openssl (docs/security.md)."""
import subprocess

from harness.tools import tool

CURVE = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]


def openssl(folder, *words):
    subprocess.run([tool("openssl", package="openssl"), *words], cwd=folder, check=True, capture_output=True)


def make(folder, name="program"):
    """A new folder for --tls-dir, with a root of its own, a certificate for this machine's loopback, and
    a list of what is revoked, which is nothing."""
    folder.mkdir()
    openssl(folder, "req", "-x509", *CURVE, "-days", "3650", "-subj", "/CN=test root", "-keyout", "root.key",
            "-out", "ca.crt")
    openssl(folder, "req", "-new", *CURVE, "-subj", f"/CN={name}", "-addext",
            "subjectAltName=DNS:localhost,IP:127.0.0.1,IP:::1", "-keyout", "tls.key", "-out", "tls.csr")
    openssl(folder, "x509", "-req", "-in", "tls.csr", "-CA", "ca.crt", "-CAkey", "root.key", "-days", "90",
            "-copy_extensions", "copy", "-out", "tls.crt")
    (folder / "index.txt").touch()
    (folder / "ca.conf").write_text("[ca]\ndefault_ca = it\n[it]\ndatabase = index.txt\ndefault_md = sha256\n",
                                    encoding="utf-8")
    openssl(folder, "ca", "-gencrl", "-config", "ca.conf", "-keyfile", "root.key", "-cert", "ca.crt",
            "-crldays", "30", "-out", "crl.pem")
    return folder

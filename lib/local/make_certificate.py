"""Write a self-signed certificate for localhost and 127.0.0.1, and its key: make_certificate.py CERTIFICATE KEY DAYS"""

import datetime
import ipaddress
import os
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

certificate_path, key_path, days = sys.argv[1], sys.argv[2], int(sys.argv[3])

key = ec.generate_private_key(ec.SECP256R1())
name = x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, "edow local cloud")])
now = datetime.datetime.now(datetime.timezone.utc)
addresses = [x509.DNSName("localhost"), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
certificate = (
    x509.CertificateBuilder()
    .subject_name(name)
    .issuer_name(name)
    .public_key(key.public_key())
    .serial_number(x509.random_serial_number())
    .not_valid_before(now - datetime.timedelta(days=1))
    .not_valid_after(now + datetime.timedelta(days=days))
    .add_extension(x509.SubjectAlternativeName(addresses), critical=False)
    .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
    .sign(key, hashes.SHA256())
)

pem = serialization.Encoding.PEM
with open(os.open(key_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
    file.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
with open(certificate_path, "wb") as file:
    file.write(certificate.public_bytes(pem))

"""Redaction: what is masked, what is left alone, and that nothing else happens to a text.

No token in this file is real or even written down: values are drawn from a seeded generator, so that neither people nor
scanners find one here.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import random
import string
import time
from collections.abc import Callable, Iterator
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.policy import redact as redact_module
from recollect.policy.redact import Finding, Redaction, redact

LETTERS = string.ascii_letters
ALNUM = LETTERS + string.digits
URLSAFE = ALNUM + "-_"
BASE64 = ALNUM + "+/"
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + "234567"

_draw = random.Random(16)


def some(alphabet: str, size: int) -> str:
    """`size` characters of `alphabet`, with a letter at both ends, and a digit inside where the alphabet has one."""
    ends = [char for char in alphabet if char.isalpha()]
    inner = _draw.choices(alphabet, k=size - 2)
    digits = [char for char in alphabet if char.isdigit()]
    if digits:
        inner[len(inner) // 2] = _draw.choice(digits)
    return _draw.choice(ends) + "".join(inner) + _draw.choice(ends)


def digits(size: int) -> str:
    return _draw.choice("123456789") + "".join(_draw.choices(string.digits, k=size - 1))


def password() -> str:
    """As people make them: a word, a capital, digits, a sign."""
    word = _draw.choice(("Winter", "dragon", "Hunter", "monkey", "Tr0ub4dor", "swordFish", "qwerty"))
    return word + _draw.choice("&!#_-") + digits(_draw.randint(2, 4)) + _draw.choice("xKz")


def luhn(prefix: str, size: int) -> str:
    """A card number of `size` digits with a right check digit."""
    body = prefix + "".join(_draw.choices(string.digits, k=size - len(prefix) - 1))
    total = sum(int(char) for char in body[-2::-2])
    total += sum(sum(divmod(int(char) * 2, 10)) for char in body[::-2])
    return body + str(-total % 10)


def iban(country: str, body: str) -> str:
    """An IBAN with right check digits."""
    number = "".join(str(int(char, 36)) for char in f"{body}{country}00")
    return f"{country}{98 - int(number) % 97:02}{body}"


@dataclass(frozen=True)
class Planted:
    """A text, the one secret in it, and the name it must be masked under."""

    kind: str
    secret: str
    text: str

    @property
    def expected(self) -> str:
        return self.text.replace(self.secret, f"[redacted:{self.kind}]")


SENTENCES = (
    "The deploy job on staging authenticates with {}, which expires in June.",
    "export SERVICE={}\n./run.sh --once",
    "Learned today: CI failed because {} had been revoked.",
    'config.yaml has `value: "{}"` committed by mistake',
    "({})",
    "部署时使用 {} 登录。",
    '{{"role": "user", "content": "try this\\n{}\\nplease"}}',
)

TOKENS: list[tuple[str, Callable[[], str]]] = [
    ("aws-access-key", lambda: "AKIA" + some(UPPER, 16)),
    ("aws-access-key", lambda: "ASIA" + some(UPPER, 16)),
    ("aws-bedrock-key", lambda: "ABSK" + some(BASE64, 110)),
    ("github-token", lambda: "ghp_" + some(ALNUM, 36)),
    ("github-token", lambda: "gho_" + some(ALNUM, 36)),
    ("github-token", lambda: "ghu_" + some(ALNUM, 36)),
    ("github-token", lambda: "ghs_" + some(ALNUM, 36)),
    ("github-token", lambda: "ghr_" + some(ALNUM, 36)),
    ("github-token", lambda: "github_pat_" + some(ALNUM, 22) + "_" + some(ALNUM, 59)),
    ("gitlab-token", lambda: "glpat-" + some(URLSAFE, 20)),
    ("gitlab-token", lambda: "glpat-" + some(URLSAFE, 27) + "." + some(HEX, 9)),
    ("gitlab-token", lambda: "glrt-" + some(URLSAFE, 20)),
    ("anthropic-key", lambda: "sk-ant-api03-" + some(URLSAFE, 93) + "AA"),
    ("anthropic-key", lambda: "sk-ant-" + some(ALNUM, 40)),
    ("openrouter-key", lambda: "sk-or-v1-" + some(HEX, 64)),
    ("openai-key", lambda: "sk-" + some(ALNUM, 48)),
    ("openai-key", lambda: "sk-proj-" + some(URLSAFE, 120)),
    ("openai-key", lambda: "sk-svcacct-" + some(URLSAFE, 60)),
    ("google-api-key", lambda: "AIza" + some(URLSAFE, 35)),
    ("google-oauth-token", lambda: "ya29." + some(URLSAFE, 60)),
    ("google-oauth-token", lambda: "GOCSPX-" + some(URLSAFE, 28)),
    ("slack-token", lambda: f"xoxb-{digits(12)}-{digits(13)}-{some(ALNUM, 24)}"),
    ("slack-token", lambda: f"xoxp-{digits(12)}-{digits(12)}-{digits(12)}-{some(HEX, 32)}"),
    ("slack-token", lambda: f"xapp-1-{some(UPPER, 11)}-{digits(13)}-{some(HEX, 64)}"),
    ("stripe-key", lambda: "sk_live_" + some(ALNUM, 24)),
    ("stripe-key", lambda: "rk_test_" + some(ALNUM, 24)),
    ("webhook-secret", lambda: "whsec_" + some(ALNUM, 32)),
    ("npm-token", lambda: "npm_" + some(ALNUM, 36)),
    ("pypi-token", lambda: "pypi-AgEIcHlwaS5vcmc" + some(URLSAFE, 120)),
    ("huggingface-token", lambda: "hf_" + some(LETTERS, 34)),
    ("huggingface-token", lambda: "hf_" + some(ALNUM, 34)),
    ("sendgrid-key", lambda: f"SG.{some(URLSAFE, 22)}.{some(URLSAFE, 43)}"),
    ("telegram-token", lambda: f"{digits(10)}:AA{some(URLSAFE, 33)}"),
    ("telegram-token", lambda: f"{digits(8)}:{some(ALNUM, 35)}"),
    ("twilio-key", lambda: "SK" + some(HEX, 32)),
    ("digitalocean-token", lambda: "dop_v1_" + some(HEX, 64)),
    ("jwt", lambda: f"eyJ{some(ALNUM, 33)}.eyJ{some(URLSAFE, 90)}.{some(URLSAFE, 43)}"),
    ("groq-key", lambda: "gsk_" + some(ALNUM, 52)),
    ("xai-key", lambda: "xai-" + some(ALNUM, 80)),
    ("perplexity-key", lambda: "pplx-" + some(ALNUM, 48)),
    ("replicate-token", lambda: "r8_" + some(ALNUM, 37)),
    ("notion-token", lambda: f"ntn_{digits(11)}{some(ALNUM, 35)}"),
    ("linear-key", lambda: "lin_api_" + some(ALNUM, 40)),
    ("figma-token", lambda: "figd_" + some(URLSAFE, 40)),
    ("docker-token", lambda: "dckr_pat_" + some(URLSAFE, 27)),
    ("supabase-token", lambda: "sbp_" + some(HEX, 40)),
    ("databricks-token", lambda: "dapi" + some(HEX, 32)),
    ("shopify-token", lambda: "shpat_" + some(HEX, 32)),
    ("square-token", lambda: "sq0atp-" + some(URLSAFE, 22)),
    ("atlassian-token", lambda: "ATATT3" + some(URLSAFE, 180)),
    ("newrelic-key", lambda: "NRAK-" + some(UPPER, 27)),
    ("postman-key", lambda: f"PMAK-{some(HEX, 24)}-{some(HEX, 34)}"),
    ("grafana-token", lambda: f"glsa_{some(ALNUM, 32)}_{some(HEX, 8)}"),
    ("sentry-token", lambda: "sntryu_" + some(HEX, 64)),
    ("planetscale-token", lambda: "pscale_tkn_" + some(ALNUM, 43)),
    ("dynatrace-token", lambda: f"dt0c01.{some(UPPER, 24)}.{some(UPPER, 64)}"),
    ("doppler-token", lambda: "dp.pt." + some(ALNUM, 43)),
    ("vault-token", lambda: "hvs." + some(URLSAFE, 92)),
    ("tailscale-key", lambda: f"tskey-auth-{some(ALNUM, 12)}-{some(ALNUM, 32)}"),
    ("pulumi-token", lambda: "pul-" + some(HEX, 40)),
    ("rubygems-key", lambda: "rubygems_" + some(HEX, 48)),
    ("brevo-key", lambda: f"xkeysib-{some(HEX, 64)}-{some(ALNUM, 16)}"),
    ("mailgun-key", lambda: "key-" + some(HEX, 32)),
    ("mailchimp-key", lambda: some(HEX, 32) + "-us14"),
    ("azure-secret", lambda: f"{some(ALNUM, 3)}8Q~{some(URLSAFE, 34)}"),
    ("terraform-token", lambda: f"{some(ALNUM, 14)}.atlasv1.{some(ALNUM, 67)}"),
    ("age-key", lambda: "AGE-SECRET-KEY-1" + some(UPPER, 58)),
    ("alibaba-key", lambda: "LTAI" + some(ALNUM, 20)),
    ("password-hash", lambda: "$2b$12$" + some(ALNUM, 53)),
    ("password-hash", lambda: f"$argon2id$v=19$m=65536,t=3,p=4${some(BASE64, 22)}${some(BASE64, 43)}"),
]

# The words around the value give it away; `{}` is where it stands.
CONTEXTS: list[tuple[str, Callable[[], str], list[str]]] = [
    (
        "aws-secret-key",
        lambda: some(BASE64, 40),
        [
            "aws_secret_access_key = {}",
            "AWS_SECRET_ACCESS_KEY={}",
            "The AWS secret for the backup bucket is {} until Friday",
            'secretAccessKey: "{}"',
        ],
    ),
    (
        "authorization",
        lambda: some(URLSAFE, 32),
        [
            "curl -H 'Authorization: Bearer {}' https://api.acme.dev/v1/me",
            "Send the header `authorization: bearer {}` on every call",
            'headers={{"Authorization": "Bearer {}"}}',
        ],
    ),
    (
        "authorization",
        lambda: some(ALNUM, 15) + "=",
        [
            "Authorization: Basic {}",
            "the proxy wants `Proxy-Authorization: basic {}` as well",
            '{{"auths": {{"registry.acme.dev": {{"auth": "{}"}}}}}}',
        ],
    ),
    (
        "url-password",
        password,
        [
            "DATABASE_URL=postgres://app:{}@db.internal:5432/app",
            "The old broker was amqp://guest:{}@rabbit.acme.dev/%2f",
            "redis://:{}@cache.internal:6379/0 is the cache",
            "mongodb+srv://svc_user:{}@cluster0.abcde.mongodb.net/?retryWrites=true",
            "git clone https://ci-bot:{}@git.acme.dev/team/repo.git",
        ],
    ),
    (
        "url-token",
        lambda: some(ALNUM, 40),
        [
            "https://{}@git.acme.dev/team/repo.git",
            "GET https://api.acme.dev/v1/items?access_token={}&page=2",
            "https://api.acme.dev/search?q=cats&api_key={}",
            "https://acme.blob.core.windows.net/c/f.zip?sv=2022-11-02&sig={}",
            "https://b.s3.amazonaws.com/k?X-Amz-Expires=300&X-Amz-Signature={}",
            "callback was /oauth/callback?code={}&state=ok",
        ],
    ),
    (
        "command-password",
        password,
        [
            "curl -u admin:{} https://nexus.acme.dev/",
            "sshpass -p {} ssh box",
            "mysqldump -u root -p{} app > dump.sql",
            "redis-cli -a {} ping",
        ],
    ),
    (
        "slack-webhook",
        lambda: f"T{some(UPPER, 10)}/B{some(UPPER, 10)}/{some(ALNUM, 24)}",
        ["Alerts go to https://hooks.slack.com/services/{} now"],
    ),
    (
        "discord-webhook",
        lambda: f"{digits(18)}/{some(URLSAFE, 68)}",
        ["posts to https://discord.com/api/webhooks/{} on failure"],
    ),
    (
        "secret",
        lambda: some(ALNUM, 24),
        [
            'api_key = "{}"',
            "SECRET_TOKEN: {}",
            "export FOO_SECRET={}",
            '"client_secret": "{}",',
            "apiKey: '{}'",
            "STRIPE_API_KEY_PROD={}",
            "SECRET_KEY_BASE={}",
            'token := "{}"',
            "The API key for the weather service is {}.",
            "Our webhook secret is `{}` on staging",
            "const authToken: string = '{}';",
            "x-api-key: {}",
            "//registry.acme.dev/:_authToken={}",
            "AccountKey={};EndpointSuffix=core.windows.net",
            '{{\\"api_key\\": \\"{}\\"}}',
            "--token {}",
        ],
    ),
    (
        "secret",
        lambda: some(HEX, 32),
        ["TWILIO_AUTH_TOKEN={}", "the Datadog api key is {}", 'dd_api_key: "{}"', "Use {} as the API key", "token {}"],
    ),
    ("secret", lambda: some(ALNUM, 700), ["SIGNING_KEY={}", 'signing_key = "{}"']),
    ("secret", lambda: str(some(HEX, 8)) + "-" + some(HEX, 12), ["HEROKU_API_KEY={}"]),
    (
        "password",
        password,
        [
            "the password is {}",
            "The password for the staging database is {}.",
            "my password: {}",
            "Password: {}\nUser: admin",
            'password = "{}"',
            "DB_PASSWORD={}",
            "PGPASSWORD={} psql -h db",
            "password={}&remember=1",
            "spring.datasource.password={}",
            "log in with user admin and password {}",
            "root password was changed to {} on Monday",
            "We set the admin password to {} for the demo",
            "the wifi password is now `{}`",
            "password (staging): {}",
            "sudo passwd: {}",
            "pwd: {}",
            "db_pass: {}",
            "Server=db;User Id=sa;Password={};Encrypt=True",
            "<password>{}</password>",
            'def connect(password: str = "{}"):',
            "the credentials are admin:{}",
            "log in with admin / {}",
            "账号 admin，密码：{}",
            "パスワードは {} です",
            "Das Passwort ist: {}",
            "admin password → {}",
            "Use **{}** as the password",
            "password for the test account: {}",
            "The password should be {}, says the runbook",
            "my password's {}",
            "pw: {}",
            "docker login -u bob --password={}",
            "kubectl create secret generic db --from-literal=password={}",
        ],
    ),
    (
        "password",
        lambda: "hunter2",
        ["the password is {}", "password: {}", "my passwd={}", "with password {} it works"],
    ),
    ("password", lambda: "letmein", ["password: {}", "DB_PASSWORD={}", 'password="{}"', "the password is `{}`"]),
    ("password", lambda: "correct-horse-battery-staple", ["The vault password is {}.", "passphrase: {}"]),
    ("password", lambda: some(LETTERS, 12), ["the password is {}", "password: {}"]),
    ("pin", lambda: digits(4), ["The alarm PIN is {}", "card pin code: {}"]),
]

PERSONAL: list[tuple[str, Callable[[], str], list[str]]] = [
    (
        "email",
        lambda: f"{some(string.ascii_lowercase, 6)}.{some(string.ascii_lowercase, 8)}@acme-corp.io",
        [
            "Ask {} before touching billing.",
            "Signed-off-by: Some One <{}>",
            "mailto:{}",
            "联系人{}负责",
            '"email": "{}"',
            "({})",
        ],
    ),
    ("email", lambda: f"{some(ALNUM, 8)}+lists@mail.some-school.ac.uk", ["cc {}, please"]),
    ("email", lambda: f"{digits(8)}@163.com", ["her address is {}"]),
    (
        "payment-card",
        lambda: luhn("4", 16),
        ["The test customer paid with {}.", "card={}", "charge {} again"],
    ),
    ("payment-card", lambda: luhn("53", 16), ["card number {} was declined"]),
    ("payment-card", lambda: luhn("37", 15), ["amex {}"]),
    ("phone-number", lambda: f"+49 170 {digits(7)}", ["call {} if the pager is silent"]),
    ("phone-number", lambda: f"+1 (415) {digits(3)}-{digits(4)}", ["Her number is {}."]),
    ("phone-number", lambda: f"+86{digits(11)}", ["手机 {}"]),
    ("social-security-number", lambda: f"{_draw.randint(100, 599)}-45-{digits(4)}", ["SSN {} is in the fixture"]),
    ("iban", lambda: iban("DE", digits(18)), ["Pay the contractor at {}"]),
    ("iban", lambda: iban("GB", "WEST" + digits(14)), ["refund to {}, please"]),
]


def plant() -> list[Planted]:
    planted = []
    for place, (kind, make) in enumerate(TOKENS):
        for step in range(2):
            secret = make()
            planted.append(Planted(kind, secret, SENTENCES[(2 * place + step) % len(SENTENCES)].format(secret)))
    return planted + [
        Planted(kind, secret, template.format(secret))
        for kind, make, templates in CONTEXTS
        for template in templates
        for secret in [make()]
    ]


def plant_personal() -> list[Planted]:
    planted = [
        Planted(kind, value, template.format(value))
        for kind, make, templates in PERSONAL
        for template in templates
        for value in [make()]
    ]
    for gap in " -":
        number = luhn("4", 16)
        grouped = gap.join(number[place : place + 4] for place in range(0, 16, 4))
        planted.append(Planted("payment-card", grouped, f"card on file: {grouped}, expires 09/27"))
    spaced = iban("FR", digits(23))
    spaced = " ".join(spaced[place : place + 4] for place in range(0, len(spaced), 4))
    planted.append(Planted("iban", spaced, f"IBAN {spaced}."))
    return planted


SECRETS = plant()
PEOPLE = plant_personal()


def names(planted: list[Planted]) -> list[str]:
    return [f"{each.kind}-{place}" for place, each in enumerate(planted)]


# Look-alikes: every line must come back as it is.
HARMLESS = """
src/recollect/policy/redact.py
/home/dev/projects/acme-web/node_modules/.pnpm/typescript@5.4.5/node_modules/typescript/lib/lib.es2022.d.ts
C:\\Users\\dev\\AppData\\Local\\Programs\\Python\\Python312\\Lib\\site-packages
./frontend/src/components/UserAccountSettings/UserAccountSettingsForm.test.tsx:142:18
/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30
dist/assets/index-BhKx92Lq.js and dist/assets/vendor-D3f9aQ2x.css
~/.cache/huggingface/hub/models--sentence-transformers--all-MiniLM-L6-v2/snapshots
/var/lib/docker/overlay2/3f5a8c1e9b7d2f4a6c8e0b1d3f5a7c9e1b3d5f7a9c1e3b5d7f9a1c3e5b7d9f1a/merged
/nix/store/q7wl0rwb0iq9k9lg2g2p9nflj9xm4r6z-python3-3.11.9/bin/python3
~/Library/Developer/Xcode/DerivedData/AcmeApp-bqzxvkjwmtrlphgfdsycnbqzxvkj/Build
getUserAccountSettingsByOrganizationId
AbstractSingletonProxyFactoryBeanConfigurationProvider
handle_incoming_websocket_message_with_retry_v2
MAX_CONCURRENT_EMBEDDING_REQUESTS_PER_WORKER
my-very-long-kebab-case-component-name-v2
com.acme.platform.billing.invoice.InvoiceReconciliationServiceImpl
org.springframework.boot.autoconfigure.jdbc.DataSourceAutoConfiguration
XMLHttpRequestEventTargetEventMapV2Adapter
kCGImageSourceCreateThumbnailFromImageAlways
__pydantic_core_schema__ and __get_pydantic_json_schema__
test_that_redaction_never_masks_identifiers_2024_06
NSPersistentCloudKitContainerOptions
HTTPSConnectionPoolSSLv3ContextWrapper
Uint8ClampedArray, Float32Array, BigUint64Array, SIMD128x4
std::chrono::duration_cast<std::chrono::milliseconds>
fixed in commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b
git show 4b825dc642cb6eb9a060e54bf8d69288fbee4904 --stat
sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855
md5 d41d8cd98f00b204e9800998ecf8427e of the empty file
request 123e4567-e89b-12d3-a456-426614174000 timed out
trace 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01
session 550E8400-E29B-41D4-A716-446655440000 was resumed
memory 01ARZ3NDEKTSV4RRFFQ69G5FAV supersedes 01BX5ZZKBKACTAV9WEVGEMMVRZ
toolu_01A09q90qw90lq917835lq9XyZ returned an error
msg_013Zva2CMHLNnjNjJKqJ2EFbC was truncated
"sessionID": "ses_e222e92f0ffeeBgkh7DXvzAOHV"
chatcmpl-8fGh2KLmNoPqRsTuVwXyZ01234567
"request_id": "Zx81LmQ92kfPq0Rt7Yw3Hb5n"
integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==
"integrity": "sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=",
golang.org/x/text v0.14.0 h1:ScX5w1eTa3QqT8oi6+ziP7dTV1S2+ALU0bI+0zXKWiQ=
resolved "https://registry.yarnpkg.com/lodash/-/lodash-4.17.21.tgz#679591c564c3bffaae8454cf0b3df370c3d6911c"
"contentHash": "HqKxWjD5bN1mRz0dP3yT6vC9xLsF2eGkUaJ4oIwX8tQ7hB=="
checksum: 10c0/3c8a8b1f0e9d7c6b5a4938271605f4e3d2c1b0a9
hash = "sha256-Xk8vN2pQ7rT1yB4mW9sD6fH3jL0zC5gA8eU2iO7kP1q="
image: ghcr.io/acme/api@sha256:9b2a28c7f0d4e1c6b8a3d5f7091e2c4b6a8d0f2e4c6b8a0d2f4e6c8b0a2d4f6e
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGq8w5Zx9t1bV0n7Lr2mK4pYc6hQ3uJ8sD1fE5gR7iTk laptop
The host key fingerprint is SHA256:nThbg6kXUpJWGl7E1IGOCspRomTxdCARLviKw6E5SY8.
ETag: "W/3Kf8sLq2Zx7Vb1Nm5Pj9Tr4Yc6Hd"
data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk
numpy==1.26.4, scipy>=1.11,<2.0; python_version >= "3.9"
torch-2.3.1+cu121-cp311-cp311-manylinux_2_17_x86_64.manylinux2014_x86_64.whl
react@18.2.0 react-dom@18.2.0 @types/node@20.11.5
lodash@4.17.21 and left-pad@1.3.0-beta.rc
v2.31.0-rc.1+build.20240607.g3f2a9c1
aarch64-unknown-linux-gnu-gcc-13.2.0-20240412
node-v20.11.1-linux-x64-musl.tar.xz
Ubuntu 22.04.4 LTS (GNU/Linux 5.15.0-105-generic x86_64)
the password is stored in vault
password is required
password must be rotated
The password is hashed with argon2id before it is stored.
password: required
password: string;
password: str
password: bcrypt hash, never the plain text
Passwords are checked against the breach list.
the password is case-sensitive
the password is SHA-256 hashed
the password is PBKDF2-SHA256 hashed, the token is RS256-signed
the password is at least 12 characters long
The password is 2048 bits of entropy, give or take
The password field is validated on blur
password: user.password
password=password
connect(user=user, password=password, host=host)
password = os.environ["DB_PASSWORD"]
password = getpass.getpass()
password: ${DB_PASSWORD}
password: "{{ vault_db_password }}"
password: <your-password>
PASSWORD=
--password-stdin is safer than --password
const [password, setPassword] = useState("");
<input type="password" name="password" autocomplete="current-password">
<label for="password">Password</label>
password_hash = hash_password(candidate)
passwordField.isSecureTextEntry = true
forgot-password, reset-password and change-password pages
"password": "Passwort"
the password is in 1Password, in the shared vault
Password reset link expires after 24 hours
password: !vault |
the passphrase is never written to disk
bypass: enabled, compass: north
tests pass: 12/12
pwd: /home/dev/work
our password policy: min 12 chars, 1 digit
The token is sent in the Authorization header.
token: the JWT returned by /login
token = request.headers.get("Authorization")
token = next(tokens)
max_tokens=4096, temperature=0.2
token_count: 128000
tokens: 1234 in, 567 out
tokenizer: cl100k_base
token budget is 8000 per prompt
The refresh token is rotated on every use.
"token": "<token>"
token: ${{ secrets.GITHUB_TOKEN }}
GITHUB_TOKEN is provided by the runner
secrets.GITHUB_TOKEN, secrets.NPM_TOKEN
secretKeyRef: {name: db-credentials-v2, key: password}
secretName: acme-tls-wildcard-2024
secret: db-credentials-v2
The secret is rotated by the operator every 30 days.
api_key: YOUR_API_KEY
api_key = "your-api-key-here"
OPENAI_API_KEY=sk-...
OPENAI_API_KEY=sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx
GitHub tokens start with ghp_, gho_ or github_pat_
AKIA is the prefix of long-lived access key ids
api_key=settings.openai_api_key
apiKey: process.env.OPENAI_API_KEY
api_key = config["api"]["key"]
primary_key: user_id
cache_key = f"{user_id}:{org_id}"
sort_key: created_at_desc
public key: see docs/keys.md
KeyError: 'access_token'
raise ValueError("missing api key")
key: value
npm_config_registry=https://registry.npmjs.org/
hf_hub_download(repo_id="acme/model", filename="config.json")
sk-fading-circle sk-child sk-cube-grid-container-wrapper
from sklearn.model_selection import train_test_split
Bearer authentication is required
uses Bearer tokens, not Basic authentication
Authorization: Bearer <token>
Authorization: Bearer $TOKEN
Authorization: Bearer ${ACCESS_TOKEN}
Basic understanding of TypeScript is expected
-----BEGIN CERTIFICATE-----
A key starts with -----BEGIN PRIVATE KEY----- and ends with -----END PRIVATE KEY-----.
eyJ is how every JWT starts
https://github.com/acme/platform/blob/main/packages/core/src/index.ts#L120-L145
https://docs.google.com/document/d/1BxiMVs0XRA5nFMdKvBdBZjgmUUqptlbs74OgvE2upms/edit
https://www.youtube.com/watch?v=dQw4w9WgXcQ&list=PLrAXtmErZgOeiKm4sgNOknGvNjby9efdf
https://figma.com/file/Xk3Qz9LmP2rT7vB1nW5sYc/Design-System?node-id=12%3A345
https://api.acme.dev/v1/items?page=2&limit=50&sort=created_at
https://example.com/reset?token=<token>
https://example.com/cb?code=200&key=value
http://localhost:3000/@vite/client
http://localhost:8080/users/@me
http://localhost:3000?email=someone@example.com
postgres://localhost:5432/app
postgres://${DB_USER}:${DB_PASS}@db/app
redis://localhost:6379/0
git@github.com:acme/platform.git
ssh://git@github.com/acme/platform.git
ssh -p 2222 ops@bastion.acme.dev uptime
scp build.tar deploy@web1.acme.dev:/srv/app
user@example.com, admin@example.org and root@localhost
Co-Authored-By: Claude <noreply@anthropic.com>
12345+someone@users.noreply.github.com
your.name@company.com
@decorator and @app.route("/users")
@media (min-width: 640px) { .grid { gap: 1rem } }
icon@2x.png, logo@3x.webp
systemctl restart getty@tty1.service
x = weights@inputs.T
color: #1e90ff; transition: transform 0.2s cubic-bezier(0.4, 0, 0.2, 1);
grid-template-columns: repeat(auto-fill,minmax(280px,1fr));
.Button_primary__3xK9f:hover{background-color:rgba(30,144,255,.85)}
className="flex items-center justify-between px-4 py-2 hover:bg-slate-100"
docker run --rm -v "$PWD":/app -w /app node:20-alpine npm ci
kubectl get pods -n kube-system -o jsonpath='{.items[*].metadata.name}'
find . -name '*.py' -not -path './.venv/*' | xargs wc -l
psql -h localhost -U postgres -d acme_development
tar xzf release-2024-06-07T10-30-00Z.tar.gz --strip-components=1
rsync -avz --delete build/ web:/srv/www/
^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$
ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/
base64.urlsafe_b64encode(payload).decode("ascii")
SGVsbG8sIFdvcmxkIQ==
import { createAsyncThunk } from "@reduxjs/toolkit/dist/createAsyncThunk"
from opentelemetry.instrumentation.sqlalchemy import SQLAlchemyInstrumentor
TypeError: Cannot read properties of undefined (reading 'accessToken')
ModuleNotFoundError: No module named 'recollect.policy.redact2'
sqlite3.OperationalError: no such table: memories_fts_v3
ERR_PNPM_OUTDATED_LOCKFILE Cannot install with "frozen-lockfile"
E       AssertionError: assert 3 == 4  # tests/test_rank.py:118
claude-3-5-sonnet-20241022, gpt-4o-mini-2024-07-18, gemini-2.0-flash-exp
meta-llama/Meta-Llama-3.1-70B-Instruct-GGUF-Q4_K_M
Qwen2.5-Coder-32B-Instruct-AWQ and DeepSeek-R1-Distill-Qwen-7B
text-embedding-3-large, voyage-code-2, bge-m3
arn:aws:iam::123456789012:role/service-role/AcmeLambdaExecutionRole
vpc-0a1b2c3d4e5f67890, subnet-0f9e8d7c6b5a43210, i-0123456789abcdef0
build 20240607123456789 took 1717754400123 ms
order 1234567890123456 was refunded
released 2024-06-07T10:30:00.123456+00:00
0.4111111111111111 is the mean
call (555) 010-9999 is a fictional number
v8: +12345 -678 lines across 90 files
pip install 'recollect[dev]>=0.1' --no-cache-dir
用户偏好：所有提交信息使用中文，数据库迁移脚本放在 db/migrations 目录下。
密码存储在密码管理器中，不要写入代码。
パスワードは環境変数から読み込みます。
비밀번호는 절대로 저장하지 않습니다.
Пароль хранится в менеджере паролей.
Das Passwort wird nie gespeichert.
the-quick-brown-fox-jumps-over-the-lazy-dog-2024-edition
We prefer tabs/spaces/whatever-the-formatter-says/consistently
SELECT id, token_hash FROM sessions WHERE expires_at < now() - interval '30 days'
CREATE INDEX CONCURRENTLY idx_memories_project_id_created_at_desc ON memories
x-request-id, x-forwarded-for, x-amz-cf-pop headers
i18n l10n a11y k8s o11y e2e p13n
PIN 13 drives the LED; pin: 4
the credentials are kept in the team vault
login: see docs/auth.md
log in with your work account / SSO
ISO-8859-1, UTF-16LE, RFC-7519, AES-256-GCM, ECDSA-P256-SHA256
The quick fix: s/foo_bar_baz/fooBarBaz/g everywhere
Vec<HashMap<String, Arc<RwLock<Option<ConnectionPool>>>>>
"Content-Security-Policy": "default-src 'self'; script-src 'nonce-{nonce}'"
BenchmarkInsertParallel-16    1000000    1043 ns/op    512 B/op
0x7ffeefbff5c8 in main () at src/main.c:42
postgresql-client-16_16.3-1.pgdg120+1_amd64.deb
[redacted:github-token] was here before
password: [redacted:password]
""".strip().splitlines()


@pytest.mark.row("P16", "patterns")
@pytest.mark.row("J26", "secrets")
@pytest.mark.parametrize("planted", SECRETS, ids=names(SECRETS))
def test_a_secret_is_masked_whole_and_named(planted: Planted) -> None:
    """Exactly the secret is replaced, under the name of its kind, and the rest of the text stays."""
    assert redact(planted.text).text == planted.expected


@pytest.mark.row("J26", "personal-data")
@pytest.mark.parametrize("planted", PEOPLE, ids=names(PEOPLE))
def test_personal_data_is_masked_whole_and_named(planted: Planted) -> None:
    """Exactly the address or number is replaced, under the name of its kind."""
    assert redact(planted.text).text == planted.expected


@pytest.mark.row("P16", "patterns")
@pytest.mark.row("P16", "entropy")
@pytest.mark.parametrize("text", HARMLESS)
def test_what_only_looks_like_a_secret_is_left_alone(text: str) -> None:
    """A look-alike has no findings, and the very object comes back."""
    result = redact(text)
    assert result == Redaction(text, ())
    assert result.text is text


@pytest.mark.row("P16", "patterns")
def test_the_tables_are_as_wide_as_they_claim() -> None:
    """At least 100 planted values of 35 kinds, and 150 look-alikes."""
    planted = SECRETS + PEOPLE
    assert len(planted) >= 100
    assert len({each.kind for each in planted}) >= 35
    assert len(HARMLESS) >= 150


@pytest.mark.row("P16", "patterns")
@pytest.mark.parametrize("label", ["RSA PRIVATE KEY", "OPENSSH PRIVATE KEY", "PRIVATE KEY", "PGP PRIVATE KEY BLOCK"])
@pytest.mark.parametrize("newline", ["\n", "\\n", "\r\n"], ids=["lines", "escaped", "crlf"])
@pytest.mark.parametrize("cut", [False, True], ids=["whole", "cut"])
def test_a_private_key_is_masked_from_first_to_last_line(label: str, newline: str, cut: bool) -> None:
    """The whole block goes, also when it breaks off before its last line."""
    lines = [f"-----BEGIN {label}-----", *(some(BASE64, 64) for _ in range(6)), some(BASE64, 20)]
    if not cut:
        lines.append(f"-----END {label}-----")
    result = redact(f"The deploy key:{newline}{newline.join(lines)}")
    assert result.text == f"The deploy key:{newline}[redacted:private-key]"


@pytest.mark.row("P16", "entropy")
@pytest.mark.parametrize("alphabet", [ALNUM, URLSAFE, BASE64, string.ascii_lowercase + string.digits, UPPER])
def test_random_tokens_are_masked(alphabet: str) -> None:
    """Nearly every random token of 40 characters is masked, whatever it was drawn from, and whole."""
    texts = [
        (token, f"left over in the shell history: {token} (unknown)")
        for token in (some(alphabet, 40) for _ in range(200))
    ]
    masked = sum(redact(text).text == text.replace(token, "[redacted:high-entropy]") for token, text in texts)
    assert masked >= 190


@pytest.mark.row("P16", "entropy")
def test_short_or_even_tokens_are_not_random_enough() -> None:
    """Twenty characters, or four bits a character, are not over the limit."""
    short, hexadecimal = some(ALNUM, 20), some(HEX, 64)
    assert redact(short).text is short
    assert redact(hexadecimal).text is hexadecimal


@pytest.mark.row("P16", "patterns")
def test_overlapping_shapes_are_masked_once_under_the_narrower_name() -> None:
    """A token in an assignment, in a header and in a URL keeps its own name and leaves nothing over."""
    token = "ghp_" + some(ALNUM, 36)
    for template in ("GITHUB_TOKEN={}", "Authorization: Bearer {}", "https://x-access-token:{}@github.com/a/b"):
        assert redact(template.format(token)).text == template.format("[redacted:github-token]")


@pytest.mark.row("P16", "patterns")
def test_several_findings_come_in_the_order_of_the_text() -> None:
    """Spans point into the original text, and each placeholder stands where its span was."""
    first, second, third = password(), "npm_" + some(ALNUM, 36), "someone.else@acme-corp.io"
    text = f"The password is {first}, the token {second}, the owner {third}."
    result = redact(text)
    assert [text[each.start : each.end] for each in result.findings] == [first, second, third]
    assert result.text == (
        "The password is [redacted:password], the token [redacted:npm-token], the owner [redacted:email]."
    )


@pytest.mark.row("J26", "secrets")
def test_a_finding_cannot_carry_the_secret() -> None:
    """A finding is a kind and a span, and nothing can be added to it."""
    assert [field.name for field in fields(Finding)] == ["kind", "start", "end"]
    finding = redact("password: " + password()).findings[0]
    with pytest.raises(FrozenInstanceError):
        finding.kind = "other"  # type: ignore[misc]


@pytest.mark.row("P16", "patterns")
def test_both_ends_of_a_change_are_masked() -> None:
    """The first mask makes room for the second, and both point into the original text."""
    old, new = password(), password()
    text = f"The root password was changed from {old} to {new} today."
    result = redact(text)
    assert result.text == "The root password was changed from [redacted:password] to [redacted:password] today."
    assert [text[each.start : each.end] for each in result.findings] == [old, new]


@pytest.mark.row("P16", "patterns")
def test_a_text_that_does_not_settle_is_masked_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    """When every pass uncovers something more, nothing of the text is kept."""
    monkeypatch.setattr("recollect.policy.redact._PASSES", 1)
    text = f"the password is {password()}"
    result = redact(text)
    assert result == Redaction("[redacted:password]", (Finding("password", 0, len(text)),))


PIECES = st.sampled_from(
    [
        *(
            "password",
            "password: ",
            "the password is ",
            "token=",
            "api_key = ",
            "Bearer ",
            "Basic ",
            "://",
            "@",
            ":",
            "=",
        ),
        *("-----BEGIN PRIVATE KEY-----", "-----END PRIVATE KEY-----", "eyJ", "AKIA", "ghp_", "sk-", "[redacted:jwt]"),
        *(
            "[redacted:",
            "]",
            "https://",
            "user:",
            "host.io",
            "\n",
            " ",
            '"',
            "'",
            "`",
            "\\n",
            "&",
            "?",
            "4111 1111 ",
            "İ",
        ),
        *(each.secret for each in (SECRETS + PEOPLE)[::7]),
        *(each.text for each in (SECRETS + PEOPLE)[::11]),
        *HARMLESS[::13],
    ]
)
TEXTS = st.text(max_size=200) | st.lists(PIECES | st.text(max_size=6), max_size=25).map("".join)


@pytest.mark.row("P16", "patterns")
@pytest.mark.row("P16", "entropy")
@given(TEXTS)
def test_redacting_twice_changes_nothing(text: str) -> None:
    """The result of redaction has no findings of its own."""
    once = redact(text)
    again = redact(once.text)
    assert again.findings == ()
    assert again.text is once.text


@pytest.mark.row("P16", "patterns")
@given(TEXTS)
def test_the_result_is_the_text_with_its_spans_replaced(text: str) -> None:
    """Spans are in order, inside the text and apart; replacing them gives the result."""
    result = redact(text)
    rebuilt, done = "", 0
    for finding in result.findings:
        assert done <= finding.start < finding.end <= len(text)
        rebuilt += text[done : finding.start] + f"[redacted:{finding.kind}]"
        done = finding.end
    assert rebuilt + text[done:] == result.text


@pytest.mark.row("P16", "patterns")
@given(st.text(st.characters(exclude_categories=()), max_size=300))
def test_any_text_can_be_redacted(text: str) -> None:
    """No text raises, lone surrogates and control characters included."""
    assert isinstance(redact(text).text, str)


HOSTILE = {
    "a": "a",
    "digits": "4",
    "digit pairs": "4 ",
    "mixed": "aB3",
    "header": "eyJ",
    "header apart": "eyJ.",
    "dashes": "-",
    "begin": "-----BEGIN",
    "private": "-----BEGIN PRIVATE KEY-----",
    "private body": "-----BEGIN PRIVATE KEY-----\nQUJDREVGR0hJSktMTU5PUA\n",
    "certificate": "-----BEGIN CERTIFICATE-----",
    "scheme": "://",
    "credentials": "://a:b",
    "user": "https://a:",
    "at": "@",
    "address": "a@",
    "dotted": "a@a.",
    "domain": "a.",
    "password": "password",
    "password is": "password is ",
    "assign": "password=",
    "spoken": "password for a ",
    "token": "token=",
    "token word": "token ",
    "key": "api_key:",
    "quotes": 'secret="',
    "parameter": "?token=",
    "question": "?",
    "ampersand": "&a",
    "sk": "sk-",
    "ghp": "ghp_",
    "glpat": "glpat-",
    "slack": "xoxb-",
    "bearer": "bearer ",
    "basic": "basic ",
    "curl": "curl -u",
    "aws": "aws",
    "aws secret": "aws secret ",
    "mysql": "mysql ",
    "login": "login: a:",
    "plus": "+1 ",
    "iban": "DE00 ",
    "placeholder": "[redacted:a",
    "placeholders": "[redacted:jwt]",
    "spaces": " ",
    "newlines": "\n",
    "slashes": "/",
    "hash": "$2b$12$",
    "mysql word": "mysql",
    "key chain": "=key1",
    "dots": "dp.pt.",
    "url word": "://senha",
    "said": " as the password",
    "open quotes": "token '",
    "pins": "password: 1234 ",
    "changes": "password to a1b2 ",
    "dotted capital": "İ",
    "wide": "密码",
}


# What a repetition of groups is reached through, and what then makes it go round.
OPENINGS = (
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN CERTIFICATE-----",
    "Bearer ",
    "token=",
    'token="',
    "password: **",
)
ROUNDS = {
    "dots": "a.",
    "dashes": "-a",
    "escapes": "\\n",
    "stars": "*a",
    "words": "a b ",
    "blanks": "\n ",
    "signs": "a&b?",
}


@pytest.mark.row("P16", "patterns")
@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("ending", ["", "(", "@a.io"], ids=["bare", "call", "address"])
def test_hostile_text_takes_linear_time(piece: str, ending: str) -> None:
    """One piece, repeated over 100,000 characters."""
    assert_linear(lambda size: repeated(piece, size) + ending)


@pytest.mark.row("P16", "patterns")
@pytest.mark.parametrize("piece", ROUNDS.values(), ids=ROUNDS.keys())
@pytest.mark.parametrize("opening", OPENINGS)
def test_a_value_without_end_takes_linear_time(opening: str, piece: str) -> None:
    """A value of 100,000 characters that gives a repetition a choice at every step, and at last a reason to fail."""
    assert_linear(lambda size: opening + repeated(piece, size) + "(")


def repeated(piece: str, size: int) -> str:
    """Whole pieces only: a longer text must end as a shorter one does, or it could take a pass more."""
    return piece * (size // len(piece))


def assert_linear(text: Callable[[int], str]) -> None:
    """Four times the text takes four times as long; sixteen times would be quadratic.

    Measured in time of this process alone, the best of up to three runs, so that a busy machine does not matter; what
    takes a hundredth of a second is quick enough, however it grows.
    """
    small, large = text(25_000), text(100_000)
    times = []
    for _ in range(3):
        times.append((seconds(small), seconds(large)))
        if min(slow for _, slow in times) < 8 * max(0.01, min(fast for fast, _ in times)):
            return
    pytest.fail(f"25,000 and then 100,000 characters took {times} seconds")


def seconds(text: str, times: int = 1) -> float:
    """The processor time that redacting `text` so many times takes."""
    started = time.process_time()
    for _ in range(times):
        redact(text)
    return time.process_time() - started


@pytest.mark.row("P16", "patterns")
def test_an_ordinary_text_takes_a_few_milliseconds() -> None:
    """8,000 characters of prose, code and look-alikes: the best of five runs is far below what a person notices."""
    text = "\n".join(HARMLESS)[:8_000]
    redact(text)
    assert min(seconds(text) for _ in range(5)) < 0.05


@pytest.mark.row("P16", "patterns")
@pytest.mark.parametrize(
    "text, most",
    [
        ("The nightly backups moved to the second machine, because the first runs out of room in spring.", 60e-6),
        ("src/recollect/policy/redact.py", 60e-6),
        ("code-style", 15e-6),
    ],
)
def test_a_short_text_takes_microseconds(text: str, most: float) -> None:
    """Every field of every memory is redacted. The bounds are about ten times what is needed."""
    redact(text)
    assert min(seconds(text, 200) for _ in range(5)) / 200 < most


@pytest.mark.row("P16", "patterns")
@given(
    st.lists(st.sampled_from([*"aZ0.", "_", "-", "/", "pw", "key", "pass", "ssn", "token", "aws", "12-", "34"])).map(
        lambda pieces: "".join(pieces)[:14]
    )
)
def test_a_short_name_has_no_findings_in_the_long_way_either(name: str) -> None:
    """Names of up to 14 characters are not looked into; behind a line break they are."""
    assert redact(name).findings == redact(f"\n{name}").findings == ()


# --- the patterns themselves ------------------------------------------------------------------------------------------

# The same name in every Python from 3.11 on, though undocumented.
parser = importlib.import_module("re._parser")


def patterns() -> set[str]:
    """Every pattern of the module: those of its tables, and whatever it has compiled by name or on the spot."""
    found = {rule.pattern for rule in (*redact_module._TOKENS, *redact_module._PHRASES)}
    found |= {pattern for _, pattern, _ in redact_module._LONG_NUMBERS} | {redact_module._PHONE}
    for node in ast.walk(ast.parse(inspect.getsource(redact_module))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "_compiled":
            with contextlib.suppress(NameError):  # a variable: one of the above
                found.add(eval(compile(ast.Expression(node.args[0]), "pattern", "eval"), vars(redact_module)))
    return found


def atomic_groups(parsed: Any) -> Iterator[str]:
    """What in a parsed pattern forbids a group, and not just a single character, to give anything back."""
    if isinstance(parsed, tuple) and len(parsed) == 2 and parsed[0] is parser.ATOMIC_GROUP:
        yield str(parsed)
    if isinstance(parsed, tuple) and len(parsed) == 2 and parsed[0] is parser.POSSESSIVE_REPEAT:
        item = parsed[1][2]
        if len(item) != 1 or item[0][0] not in (parser.ANY, parser.IN, parser.LITERAL, parser.NOT_LITERAL):
            yield str(parsed)
    if isinstance(parsed, tuple | list | parser.SubPattern):
        for part in parsed:
            yield from atomic_groups(part)


@pytest.mark.row("P16", "patterns")
def test_no_group_is_possessive() -> None:
    """Possessive quantifiers stand on single characters and classes alone, and there are no atomic groups.

    Python before 3.11.5 (Debian 12 has 3.11.2) mistakes where a possessive group has matched when something inside it
    can give back (gh-100061, gh-106052): secrets are then masked in part or not at all.
    """
    found = patterns()
    assert len(found) > 100
    assert [pattern for pattern in found if any(atomic_groups(parser.parse(pattern)))] == []


@pytest.mark.parametrize(
    "pattern, wrong",
    [("(?:ab?c)*+", 1), ("x(?P<y>(?:a|bc)++)", 1), ("(?>a|b)", 1), ("(?:ab){2,}+c", 1), ("[a-z]*+(?:b.++|[^c]?+)*", 0)],
)
def test_possessive_groups_are_noticed(pattern: str, wrong: int) -> None:
    """The check above sees each way to write one."""
    assert len(list(atomic_groups(parser.parse(pattern)))) == wrong

"""What a memory says about code: the paths, symbols, versions and commands it mentions.

Only what can be looked up in a working tree is a mention, and only where the text claims that it is there: a sentence
that tells of something removed or renamed, or warns against using it, does not. In doubt nothing is found, as a memory
called stale by mistake costs more than one that is overlooked.

Text is read sentence by sentence and token by token with bounded patterns: no text takes more than linear time.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..model import Anchor, Memory

Sort = Literal["path", "symbol", "version", "command"]

_MOST_TEXT = 20_000
_MOST_MENTIONS = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Mention:
    """One thing a memory takes to be in the working tree.

    `text` is the path, the symbol, the version with its sign (`3.11`, `>=20`), or the command, whose last word is the
    target or script. `of` is whose version it is (`python`), what runs the command (`make`), or the hash that the
    content of an anchored path had at the time. `path` is the file that the memory is anchored to with this path or
    symbol, "" for what only its text mentions; or the script that a command starts by its path.
    """

    sort: Sort
    text: str
    of: str = ""
    path: str = ""


def mentions(memory: Memory) -> tuple[Mention, ...]:
    """What the anchors of a memory, its content and the steps of its procedure mention: each once, anchors first.

    Of a content beyond 20,000 characters the rest is not read, and no more than 200 mentions are told.
    """
    found = dict.fromkeys(_anchored(memory.anchors))
    said = {(mention.sort, mention.text) for mention in found}
    steps = memory.procedure.steps if memory.procedure else ()
    for mention in _in_texts((memory.content, *steps)):
        if (mention.sort, mention.text) not in said:
            found[mention] = None
    return tuple(found)[:_MOST_MENTIONS]


_SAME_AS = dict(
    pair.split(":")
    for pair in "nodejs:node golang:go python3:python rustc:rust pytorch:torch tailwind:tailwindcss nextjs:next "
    "vuejs:vue reactjs:react sklearn:scikit-learn".split()
)


def plain_name(name: str) -> str:
    """The name of a package or language in the one form that is compared: `Node.js` is `node`, `My_Pkg` is `my-pkg`."""
    plain = re.sub(r"[-_.]+", "-", name.lower().removesuffix(".js"))
    return _SAME_AS.get(plain, plain)


_LINE_OF_FILE = re.compile(r"(?::\d+(?:[-:]\d+)?|#L\d+(?:-L?\d+)?)\Z")


def _anchored(anchors: Iterable[Anchor]) -> Iterator[Mention]:
    for anchor in anchors:
        path = _LINE_OF_FILE.sub("", anchor.path).removeprefix("./")
        yield Mention(sort="path", text=path, of=anchor.content_hash or "", path=path)
        if anchor.symbol:
            yield Mention(sort="symbol", text=anchor.symbol, path=path)


# --- Sentences --------------------------------------------------------------------------------------------------------

_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_FOREIGN = re.compile(
    r"\[\[[^\]\n]{0,200}\]\]|\b[a-zA-Z][a-zA-Z+.-]{1,20}://[^\s`<>\"')]*|\b[\w.+-]{1,64}@[\w-]+\.[\w.-]+"
)
"""Addresses, and links between notes, which look like paths and symbols."""

_SENTENCE_END = re.compile(r"(?<=[.!?;])[\"')*]{0,3}\s+(?=[A-Z`\"'(\[*_])|(?<=;)\s+")
_CODE_SPAN = re.compile(r"(`{1,2})([^`\n]{1,200})\1")
_OVER = re.compile(
    r"\b(?:removed|deleted|dropped|renamed|replaced|replaces|moved|migrated|retired|obsolete|deprecated|former"
    r"(?:ly)?|previous(?:ly)?|used to|no longer|gone|upgraded?|downgraded?|bump(?:ed|ing)?|switched|ported|superseded|"
    r"superseding|(?:does|did|do|must|may|should|need)(?: not|n't) (?:even |yet |be )?(?:exist|creat|add)\w*|"
    r"nonexistent|non-existent|missing|there (?:is|are|was|were) no|there (?:isn't|aren't)|no such|to be created|"
    r"hypothetical|legacy|old|originally|at the time|got rid|instead of|rather than|eliminated|stripped|was called)\b",
    re.IGNORECASE,
)
"""What says that a sentence is not about the tree as it is: things gone, renamed or yet to come."""
_AGAINST = re.compile(r"\b(?:never|not|don't|do not|avoid|without|instead of|rather than|no|stop|forbidden:?)\b", re.I)
_NONE = re.compile(r"\b(?:no|not|without)\s+[`*\"'(]{0,2}\Z", re.I)
_CLAUSE = re.compile(r"[.;:,]\s")
_REACH = 40


class _Piece(NamedTuple):
    """Text of one sentence: its prose with the code blanked out, one span of code, or one line of a block of code."""

    text: str
    at: int
    code: bool
    block: bool = False


def _in_texts(texts: Iterable[str]) -> Iterator[Mention]:
    for text in texts:
        for sentence, block in _sentences(text[:_MOST_TEXT].replace("’", "'")):
            if not _OVER.search(_spoken(sentence)):
                yield from _in_sentence(sentence, block)


def _spoken(sentence: str) -> str:
    """Its plain words, without code and names of files, where `old` is just a name."""
    words = _CODE_SPAN.sub(" ", sentence).split()
    return " ".join(word for word in words if not _TELLING.search(word.rstrip(".,:;!?)")))


def _sentences(text: str) -> Iterator[tuple[str, bool]]:
    """The sentences of a text and the lines of its code blocks, which are the ones told with True."""
    block = False
    prose: list[str] = []
    for line in [*_FOREIGN.sub(lambda found: " " * len(found[0]), text).split("\n"), ""]:
        fence = _FENCE.match(line)
        if block and not fence:
            yield line, True
            continue
        # A new paragraph, list item, heading or table row ends a sentence; a plain line break does not.
        if fence or not line.strip() or re.match(r"\s*(?:[-*+#>|]|\d+[.)])", line):
            yield from ((sentence, False) for sentence in _SENTENCE_END.split(" ".join(prose)) if sentence.strip())
            prose = []
        if fence:
            block = not block
        elif line.strip():
            prose.append(line)
    yield from ((sentence, False) for sentence in _SENTENCE_END.split(" ".join(prose)) if sentence.strip())


def _in_sentence(sentence: str, block: bool) -> Iterator[Mention]:
    """Its mentions in the order they stand, less those the words before them speak against."""
    found: list[tuple[int, Mention]] = []
    for piece in _pieces(sentence, block):
        tokens = _tokens(piece.text)
        commands = [*_commands(piece)]
        started = {mention.path for _, mention in commands}
        paths = (each for each in _paths(piece, tokens) if each[1].text not in started)
        for at, mention in (*paths, *_symbols(piece, tokens, sentence), *_versions(piece), *commands):
            before = sentence[max(0, piece.at + at - _REACH) : piece.at + at]
            # "Never edit src/x.py" still says that it is there; "never call old_name()" and "no src/x.py" do not.
            against = _NONE if mention.sort == "path" else _AGAINST
            if not against.search(_CLAUSE.split(before)[-1]):
                found.append((piece.at + at, mention))
    return (mention for _, mention in sorted(found, key=lambda pair: pair[0]))


def _pieces(sentence: str, block: bool) -> Iterator[_Piece]:
    if block:
        yield _Piece(re.sub(r"(?:^|\s)#.*", "", sentence), 0, True, block=True)
        return
    for span in _CODE_SPAN.finditer(sentence):
        yield _Piece(span[2], span.start(2), True)
    yield _Piece(_CODE_SPAN.sub(lambda span: " " * len(span[0]), sentence), 0, False)


class _Token(NamedTuple):
    text: str
    at: int
    call: bool
    torn: bool
    """Part of something longer that is a pattern, a placeholder or a name in another script."""


_TOKEN = re.compile(r"([!#-&+\-./0-9:=?@A-Z\\^_a-z~]+)(\(\))?")
_TELLING = re.compile(r"[/._]|[a-z0-9][A-Z]|::|->|file\Z|\ACODEOWNERS\Z")


def _tokens(text: str) -> list[_Token]:
    """The words of a text that may be paths or names in code, which plain words are not.

    Quotes, brackets, commas, stars and anything beyond ASCII part them.
    """
    tokens: list[_Token] = []
    for found in _TOKEN.finditer(text):
        kept = found[1].rstrip(".:!?=#-&")
        call = kept == found[1] and found[2] is not None
        if call or _TELLING.search(kept):
            torn = _tears(text[found.end() : found.end() + 2]) or _tears(
                text[max(0, found.start() - 2) : found.start()][::-1]
            )
            tokens.append(_Token(kept, found.start(), call, torn))
    return tokens


def _tears(beside: str) -> bool:
    """Whether what stands beside a token, the nearest first, goes on with it: `<id>`, `{a,b}`, a single star."""
    if not beside or beside == "**":
        return False
    return beside[0] in "<>{}*" or beside[0].isalnum()


# --- Paths ------------------------------------------------------------------------------------------------------------

_PLACE_IN_FILE = re.compile(r"::|#|:\d|\?")
_PATH = re.compile(r"(?:\./)?(?:[\w.@+-]+/)*[\w.@+-]*", re.ASCII)
_ENDINGS = frozenset(
    "astro avsc bash bat bicep c cc cfg cjs clj cmake conf cpp cs csproj css csv cts cxx dart dockerfile ex exs "
    "fish fs go gql gradle graphql groovy h hbs hcl hpp hs htm html ini ipynb java jinja jinja2 js json json5 "
    "jsonc jsonl jsx kt kts less lock lua m4 md mdc mdx mjs mk ml mod mts nix php pl plist prisma properties "
    "proto ps1 py pyi pyx rake rb rs rst sass sbt scala scss sh sln sol sql sum svelte swift template tf tfvars "
    "toml tpl ts tsv tsx txt vue xml yaml yml zig zsh".split()
)
_SETTINGS = frozenset("json yaml yml toml cfg ini".split())
_NO_ENDINGS = frozenset(
    "example sample ttf otf bak log db sqlite png svg jpg jpeg gif webp ico pdf zip gz tar exe dll so dylib "
    "wasm env key pem crt asmdef unity prefab asset woff2 mp3 mp4 csv pyc class jar local prototype length".split()
)
"""What else follows the point of a name that is no symbol."""
_WHOLE_NAMES = frozenset(
    "Makefile GNUmakefile Dockerfile Containerfile justfile Justfile Jenkinsfile Procfile Gemfile Rakefile "
    "Vagrantfile Pipfile Brewfile Tiltfile Caddyfile Earthfile CODEOWNERS".split()
)
_DOT_FILES = frozenset(
    ".gitignore .gitattributes .gitmodules .dockerignore .npmrc .nvmrc .yarnrc .editorconfig .eslintrc "
    ".prettierrc .babelrc .python-version .node-version .ruby-version .tool-versions .pylintrc .flake8 "
    ".coveragerc .npmignore .eslintignore .prettierignore .browserslistrc .stylelintrc .cursorrules .envrc "
    ".mailmap .secretsignore".split()
)
_TOPS = frozenset(
    "src lib libs app apps pkg packages crates cmd internal test tests spec docs doc scripts script tools bench "
    "benchmarks config configs migrations examples deploy infra server client frontend backend web api "
    "components pages assets public static templates fixtures modules plugins services k8s helm charts "
    "terraform .github .claude .cursor .circleci .vscode .storybook .husky .cargo .devcontainer".split()
)
_SURE_TOPS = frozenset("src crates packages apps internal .github .claude .cursor .circleci .vscode".split())
_NOT_KEPT = frozenset(
    "node_modules bower_components dist build target out .venv venv env .env .git __pycache__ coverage htmlcov "
    ".next .nuxt .cache tmp temp obj .tox .mypy_cache .pytest_cache .ruff_cache .gradle .idea .DS_Store "
    ".env.local .env.production .env.development .env.test settings.local.json CLAUDE.local.md".split()
)
"""What is made, downloaded or private: whether it is there says nothing."""
_STAND_INS = frozenset("foo bar baz qux xxx xyz path your my-project yourproject example.py file.py filename".split())
_BLANK_FORM = re.compile(r"YYYY|NNN|XXX|\.\.\.")
_PRODUCTS = frozenset(
    "node.js next.js vue.js nuxt.js react.js angular.js three.js d3.js express.js ember.js backbone.js chart.js "
    "p5.js discord.js moment.js alpine.js electron.js babylon.js solid.js nest.js deno.js day.js docs.rs "
    "handlebars.js mermaid.js socket.io anime.js pdf.js core.js knockout.js".split()
)
_DOMAIN = re.compile(r"(?:[\w-]+\.)+(?:com|org|net|io|dev|ai|co|app|edu|gov|me|us|uk|de|fr|cn|jp|info|xyz|local)", re.I)
_NUMBERS = re.compile(r"v?[\d.\-+_]*")
_PREFIXES = frozenset("origin upstream feature feat fix hotfix bugfix release chore refs heads refactor".split())


def _paths(piece: _Piece, tokens: Iterable[_Token]) -> Iterator[tuple[int, Mention]]:
    for token in tokens:
        # What is left of a pattern can still be the folder it looks in.
        if token.torn and not token.text.endswith("/"):
            continue
        if path := _as_path(_PLACE_IN_FILE.split(token.text)[0], piece):
            yield token.at, Mention(sort="path", text=path)


def _as_path(token: str, piece: _Piece) -> str:
    """The token as a path from the root of the tree, "" when it is none or none that can be looked up."""
    path = token.removeprefix("./")
    if not path or path[0] in "/@+-" or "//" in path or not _PATH.fullmatch(path):
        return ""
    *folders, name = path.split("/")
    if ".." in folders or name == ".." or not _NOT_KEPT.isdisjoint((*folders, name)):
        return ""
    if not _STAND_INS.isdisjoint((*folders, name, name.partition(".")[0])) or _BLANK_FORM.search(path):
        return ""
    if not folders:
        return path if _is_file_name(name, piece) else ""
    return path.rstrip("/") if _is_nested(folders, name, piece) else ""


def _is_file_name(name: str, piece: _Piece) -> bool:
    """Whether a name that stands alone is that of a file."""
    if name in _WHOLE_NAMES or name in _DOT_FILES:
        return True
    stem, dot, ending = name.rpartition(".")
    if not dot or ending not in _ENDINGS or name.lower() in _PRODUCTS or _is_several_words(piece):
        return False
    if name[0] == ".":
        return "." in name[1:] and ending in _SETTINGS  # `.py` and `.test.ts` are endings, not files
    return len(stem) > 1 and not _NUMBERS.fullmatch(stem)


def _is_several_words(piece: _Piece) -> bool:
    """Whether a name without a folder may be half of one with a blank, or a word of example code."""
    return piece.code and (piece.block or " " in piece.text.strip())


def _is_nested(folders: list[str], name: str, piece: _Piece) -> bool:
    """Whether words joined by slashes are a path, and not alternatives, an address or a branch."""
    first = folders[0]
    if _DOMAIN.fullmatch(first) or _NUMBERS.fullmatch(first) or any(not folder.strip(".") for folder in folders):
        return False
    # `package.json/yarn.lock` is two files, `text/x.y` is none.
    if any(_ends_like_a_file(folder) for folder in folders):
        return False
    if _ends_like_a_file(name) or name in _WHOLE_NAMES or name in _DOT_FILES:
        return not _NUMBERS.fullmatch(name)
    if "." in name[1:] or first in _PREFIXES:
        return False
    if piece.code and not piece.block:
        return first in _TOPS or (not name and len(folders) == 1)
    sure = first in _SURE_TOPS or (first in _TOPS and (not name or len(folders) > 1))
    return sure and not any(part in _TOPS for part in (*folders[1:], name) if len(folders) == 1)


def _ends_like_a_file(name: str) -> bool:
    stem, dot, ending = name.rpartition(".")
    return bool(dot and stem) and ending in _ENDINGS


# --- Symbols ----------------------------------------------------------------------------------------------------------

_SYMBOL = re.compile(r"[A-Za-z_$][\w$]*(?:(?:\.|::|#|->)[A-Za-z_$][\w$]*)*", re.ASCII)
_JOINT = re.compile(r"\.|::|#|->")
_SNAKE = re.compile(r"_*[A-Za-z][A-Za-z0-9]*_[A-Za-z0-9_]*[A-Za-z0-9]_*", re.ASCII)
_CAMEL = re.compile(
    r"[A-Z][a-z0-9]+(?:[A-Z][a-z0-9]+){2,}[A-Z]*|[a-z]{2,}[a-z0-9]*(?:[A-Z][a-z0-9]+)+[A-Z]*|"
    r"[A-Z][a-z0-9]+(?:Adapter|Args|Base|Builder|Cache|Client|Component|Config|Context|Controller|Def|Dialog|Dto|Engine|"
    r"Entity|Error|Event|Exception|Factory|Field|Filter|Form|Guard|Handler|Helper|Id|Impl|Index|Info|Item|Iterator|Job|"
    r"Kind|Limit|Link|List|Listener|Loader|Log|Manager|Map|Middleware|Mixin|Mode|Model|Node|Options|Page|Panel|Params|"
    r"Parser|Policy|Pool|Provider|Query|Queue|Reader|Record|Registry|Repository|Request|Resolver|Response|Result|Router|"
    r"Schema|Scope|Serializer|Server|Service|Session|Settings|Spec|State|Status|Store|Strategy|Table|Task|Test|Token|"
    r"Tree|Type|User|Validator|Value|View|Widget|Worker|Writer)s?",
    re.ASCII,
)
"""Humps in prose: three, a small first letter, or two of which the second says what it is for. Products have two."""
_HUMP = re.compile(r"[a-z0-9][A-Z]", re.ASCII)
_NOT_SYMBOLS = frozenset(
    "snake_case camelcase pascalcase kebab_case screaming_snake_case upper_snake_case upper_case lower_case "
    "github gitlab bitbucket javascript typescript postgresql youtube linkedin facebook wordpress pytorch "
    "tensorflow fastapi openai openapi langchain huggingface chatgpt powershell cloudflare dynamodb mongodb "
    "mariadb clickhouse bigquery elasticsearch opensearch rabbitmq vscode devops websocket websockets "
    "webassembly graphql restful oauth iphone ipad ipados macbook macos ios ebay paypal jquery numpy scipy "
    "sqlalchemy sqlite duckdb whatsapp imessage typeerror valueerror keyerror indexerror runtimeerror "
    "attributeerror importerror notimplementederror filenotfounderror modulenotfounderror permissionerror "
    "timeouterror connectionerror referenceerror syntaxerror rangeerror console.log json.stringify json.parse "
    "os.environ sys.path math.random date.now e.g i.e".split()
)
"""Names of products, ways of writing and names of every language: none is a symbol of this tree."""
_NOUN = "class|dataclass|function|method|struct|enum|trait|interface|decorator|constant|fixture|macro|hook|component"
_NOUN_AFTER = re.compile(rf"`{{1,2}} (?:{_NOUN})\b")
_NOUN_BEFORE = re.compile(rf"\b(?:{_NOUN}) `{{1,2}}$")
_PLAIN = re.compile(r"[A-Za-z][A-Za-z0-9]{2,}", re.ASCII)


def _symbols(piece: _Piece, tokens: Iterable[_Token], sentence: str) -> Iterator[tuple[int, Mention]]:
    """Whole code spans that are one name, and names in prose that can be nothing else; not the code of examples."""
    if piece.block:
        return
    if piece.code:
        bare = re.sub(r"\([^()]{0,80}\)$", "", piece.text.strip().removeprefix("@"))
        call = bare != piece.text.strip().removeprefix("@")
        named = _NOUN_AFTER.match(sentence, piece.at + len(piece.text)) or _NOUN_BEFORE.search(sentence[: piece.at])
        if _is_symbol(bare, call) or (named and _PLAIN.fullmatch(bare)):
            yield 0, Mention(sort="symbol", text=bare)
        return
    for token in tokens:
        name = token.text.removeprefix("@")
        if not token.torn and _is_symbol(name, token.call) and (token.call or _is_unmistakable(name)):
            yield token.at, Mention(sort="symbol", text=name)


def _is_symbol(name: str, call: bool) -> bool:
    """Whether a name has the shape of one in code: called, joined, with underscores or with humps."""
    if len(name) < 3 or len(name) > 120 or not _SYMBOL.fullmatch(name) or name.lower() in _NOT_SYMBOLS:
        return False
    parts = _JOINT.split(name)
    if _ends_like_a_file(name.partition("#")[0]) and "#" in name:
        return False
    if len(parts) > 1 and not call and (parts[-1] in _ENDINGS | _NO_ENDINGS or _DOMAIN.fullmatch(name)):
        return False
    if parts[0] in {"com", "org", "net", "io", "www"} or parts[0].lower() in _STAND_INS:
        return False
    shaped = any(_SNAKE.fullmatch(part) or (_HUMP.search(part) and not part.isupper()) for part in parts)
    return call or shaped or (len(parts) > 1 and all(len(part) > 1 for part in parts))


def _is_unmistakable(name: str) -> bool:
    """Whether a name in prose, without a call, cannot be an English word, a product or two sentences run together."""
    parts = _JOINT.split(name)
    if len(parts) == 1:
        return bool((_SNAKE.fullmatch(name) and name[0] != "_" and name[-1] != "_") or _CAMEL.fullmatch(name))
    capital = name[0].isupper() and not parts[0].isupper() and parts[1][0].islower() and len(parts[1]) > 2
    return capital or any(_SNAKE.fullmatch(part) or _CAMEL.fullmatch(part) for part in parts)


# --- Versions ---------------------------------------------------------------------------------------------------------

_NUMBER = re.compile(
    r"(?<![\d.])(?P<number>\d{1,3}(?:\.\d{1,4}){0,3})(?P<rest>\.x|\.\*|\+)?(?!\.?[\w%/:]|-\w|\s?[-–/]\s?\d)", re.ASCII
)
_NAME_BEFORE = re.compile(
    r"(?<![\w./@$-])(?P<name>[A-Za-z][\w.+-]*?)"
    r"(?:\s?(?P<sign>>=|<=|==|~=|≥|\^|~|>|<|@)\s?v?|\s(?:version\s)?(?P<v>v)?|(?<=\bpython))\Z",
    re.ASCII,
)
_NAME_REACH = 60
_KNOWN = frozenset(
    "python node java kotlin swift ruby php rust golang typescript deno bun react vue angular svelte nuxt "
    "django flask fastapi pydantic sqlalchemy alembic celery numpy pandas scipy pytorch torch tensorflow keras "
    "transformers pytest mypy ruff hypothesis poetry uv pnpm npm yarn webpack vite vitest jest eslint prettier "
    "tailwind tailwindcss playwright cypress storybook rollup esbuild prisma typeorm sequelize mongoose redux "
    "graphql apollo tokio serde axum actix spring hibernate gradle maven rails laravel symfony cmake electron "
    "lodash zod jinja2 httpx aiohttp uvicorn starlette boto3 psycopg redis kafka nestjs nextjs astro remix expo "
    "jquery bootstrap d3 three rxjs trpc scikit-learn matplotlib opencv langchain openai anthropic black isort "
    "tox nox sphinx mkdocs".split()
)
_COUNTING = frozenset(
    "java ruby rust swift black spring rails three astro remix expo apollo redis vitest jest pytest playwright "
    "cypress hypothesis storybook mypy ruff eslint prettier tox nox".split()
)
"""Known names after which a whole number may count something: other senses of the word, or tests and complaints."""
_WORDS_TOO = frozenset("next go express rich click requests attrs typer".split())
"""Names that are mostly words; their versions have a point."""
_NO_NAME = frozenset(
    "a an the and or of to in on at by for from with than is was are were be version versions release section "
    "chapter part step phase stage figure fig table page line lines item issue pr ticket rule level tier grade "
    "round week day month year quarter sprint milestone about around roughly approximately only least most over "
    "under up exactly nearly score scored rate ratio value average mean cost costs took takes factor weight "
    "alpha beta gamma p q k n x y top tls ssl http https oauth openapi apache gpl lgpl agpl mpl bsd cc wcag "
    "unicode utf usb bluetooth css html json yaml toml xml sql ipv opengl semver es rfc iso ieee pep adr port "
    "id no nr number v size width height length timeout limit max min default threshold temperature budget exit "
    "code status error model gpt claude gemini llama opus sonnet haiku windows ios android macos ubuntu debian".split()
)
_UNIT = re.compile(
    r"\s?(?:of|out|[kmgt]i?b|ms|s|sec|secs|min|mins|hrs?|px|em|rem|pt|x|times|seconds?|minutes?|hours?|days?|weeks?|months?|"
    r"years?|percent|bytes?|lines?|files?|tests?|items?|users?|rows?|points?|tokens?|pages?|steps?|nodes?|workers?|"
    r"instances?|retries|requests?|calls?|components?|packages?|modules?|classes|functions?|hooks?)\b",
    re.IGNORECASE,
)
_CUE = re.compile(
    r"\b(?:uses?|using|requires?|needs?|targets?|runs? on|depends? on|pin(?:s|ned)?(?: to)?|supports?) $", re.I
)


def _versions(piece: _Piece) -> Iterator[tuple[int, Mention]]:
    if piece.block:
        return
    for number in _NUMBER.finditer(piece.text):
        start = max(0, number.start() - _NAME_REACH)
        named = _NAME_BEFORE.search(piece.text[start : number.start()])
        if named is None or _UNIT.match(piece.text, number.end()):
            continue
        name, before, after = plain_name(named["name"]), piece.text[: start + named.start()], piece.text[number.end() :]
        alone = piece.code and not (before + after).strip()
        if name not in _NO_NAME and _names_a_version(named, number, alone or bool(_CUE.search(before))):
            sign = {"≥": ">=", "==": "", "@": ""}.get(named["sign"] or "", named["sign"] or "")
            sign = ">=" if number["rest"] == "+" else sign
            yield start + named.start(), Mention(sort="version", text=sign + number["number"], of=name)


def _names_a_version(named: re.Match[str], number: re.Match[str], sure: bool) -> bool:
    """Whether a number after a name is its version: by the sign between them, or because the name is known."""
    name, sign, dots = plain_name(named["name"]), named["sign"] or "", number["number"].count(".")
    dotted = dots > 0 or bool(number["rest"])
    if not dotted and named.end() == named.end("name"):
        return False  # `python3` is a program
    if name in _KNOWN:
        return (
            dotted
            or bool(sign)
            or (len(number["number"]) < 3 and (name not in _COUNTING or named["name"][0].isupper()))
        )
    if name in _WORDS_TOO:
        return dotted
    if not dotted or sign in {">", "<"}:
        return False  # a count, or a comparison of anything
    return bool(sign or named["v"]) or sure or (dots == 2 and named["name"][0].isupper())


# --- Commands ---------------------------------------------------------------------------------------------------------

_TARGET = re.compile(r"[A-Za-z_][\w:.-]*", re.ASCII)
_PYTHON_RUNNERS = frozenset({"uv", "poetry", "pdm", "hatch", "pipenv", "rye"})
_SCRIPT_RUNNERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_BUILT_IN = frozenset(
    "add audit bin cache ci config create dedupe dlx exec global help import info init install i link list "
    "login ls outdated pack patch prune publish rebuild remove rm root run set setup store unlink up update "
    "upgrade version view why workspace workspaces x node npm is and or as for with to in from instead via".split()
)
_USUAL = frozenset("build test lint dev start format typecheck deploy check e2e preview serve watch storybook".split())
_LEAD = re.compile(r"^(?:\$ |sudo |time |[A-Z_][A-Z0-9_]*=\S* )+")
_JOINED = re.compile(r"\s*(?:&&|\|\||;|\|)\s*")
_WITH_A_VALUE = frozenset({"-C", "-f", "-j", "-o", "-I", "--directory", "--file"})
_IN_PROSE = re.compile(
    r"(?<![\w./-])(?:(?:npm|pnpm|yarn|bun) run [\w:.-]+|(?:npm|pnpm|yarn) [a-z][\w:.-]*|"
    r"(?:uv|poetry|pdm|hatch|pipenv|rye) run [\w:.-]+|tox -e [\w.,-]+|nox -s [\w.-]+|cargo xtask\b|"
    r"(?:(?<=\brun )|(?<=\bruns )|(?<=\brunning )|(?<=\bvia )|(?<=\busing )|(?<=\bwith )|(?<=: )|(?<=\$ ))"
    r"make [a-z][\w.-]*|"
    r"\./[\w./-]+)",
    re.ASCII,
)
_SCRIPT = re.compile(r"\./(?:[\w.-]+/)*[\w-]+(?:\.sh|\.bash|\.py)?", re.ASCII)
_ALONE = re.compile(r"\s*(?:make|just) [a-z][\w-]*[.!]?\s*", re.ASCII)
_NO_TARGET = frozenset(
    "a an the it its this that these those to for from in on and or as of with by is are sure sense use changes "
    "them us targets target files file commands command so everything something anything if when then only one "
    "your our".split()
)


def _commands(piece: _Piece) -> Iterator[tuple[int, Mention]]:
    if not piece.code:
        whole = _ALONE.fullmatch(piece.text)
        for found in (whole,) if whole else _IN_PROSE.finditer(piece.text):
            words = found[0].strip().rstrip(".:!").split()
            shorthand = words[0] in _SCRIPT_RUNNERS and words[1:2] != ["run"]
            if words[-1] not in _NO_TARGET and (not shorthand or words[1] in _USUAL):
                yield from ((found.start(), mention) for mention in _command(words))
        return
    for line in _JOINED.split(piece.text.strip()):
        yield from ((0, mention) for mention in _command(_LEAD.sub("", line).split()))


def _command(words: list[str]) -> Iterator[Mention]:
    """The targets and scripts that a command line asks its runner for."""
    match words:
        case ["make", *rest]:
            yield from _asked("make", _targets(rest))
        case ["just", recipe, *_]:
            yield from _asked("just", [recipe])
        case [("npm" | "pnpm" | "yarn" | "bun") as runner, "run" | "run-script", script, *_]:
            yield from _asked(f"{runner} run", [script])
        case ["npm", ("test" | "start") as script, *_]:
            yield from _asked("npm", [script])
        case [("pnpm" | "yarn") as runner, script, *_] if script not in _BUILT_IN:
            yield from _asked(runner, [script])
        case [runner, "run", script, *_] if runner in _PYTHON_RUNNERS and not _ends_like_a_file(script):
            yield from _asked(f"{runner} run", [script])
        case ["tox", "-e", names, *_]:
            yield from _asked("tox -e", names.split(","))
        case ["nox", "-s" | "-e", name, *_]:
            yield from _asked("nox -s", [name])
        case ["cargo", "xtask", *_]:
            yield from _asked("cargo", ["xtask"])
        case [script, *_] if _SCRIPT.fullmatch(script) and ".." not in script:
            yield Mention(sort="command", text=script, path=script.removeprefix("./"))


def _targets(rest: list[str]) -> Iterator[str]:
    skip = False
    for word in rest:
        if not skip and word[0] != "-" and "=" not in word:
            yield word
        skip = word in _WITH_A_VALUE


def _asked(runner: str, names: Iterable[str]) -> Iterator[Mention]:
    for name in names:
        if _TARGET.fullmatch(name) and name not in _STAND_INS:
            yield Mention(sort="command", text=f"{runner} {name}", of=runner.partition(" ")[0])


# --- Whether versions agree -------------------------------------------------------------------------------------------

_Number = tuple[int, int, int]
_Range = tuple[_Number, _Number]
_FIRST: _Number = (0, 0, 0)
_LAST: _Number = (10**9, 0, 0)
_BOUND = re.compile(r"(>=|<=|===?|~=|!=|~>|[\^~><=])?\s*v?(\d{1,9}(?:\.\d{1,9})*)", re.ASCII)
_MOST_SPEC = 500
_HYPHEN = re.compile(r"(\d[\w.]{0,40})\s-\s(?=v?\d)")


def admits(declared: str, claimed: str, *, caret: bool = False, parts: int = 2) -> bool:
    """Whether what a tree declares (`>=3.11,<4`, `^18.2 || ^19`) leaves room for a version that is claimed of it.

    Of the claim as many parts count as it has, and `parts` at most: a patch contradicts nothing. With `caret` a
    declared number without a sign means that one or any later compatible one. What has no number admits everything.
    """
    signed = _BOUND.match(claimed.strip())
    if signed is None:
        return True
    short = (signed[1] or "") + ".".join(signed[2].split(".")[:parts])
    wanted = _range(short, caret=False)
    for alternative in declared[:_MOST_SPEC].split("||"):
        low, high = _range(_HYPHEN.sub(r">=\1 <=", alternative), caret=caret)
        if max(low, wanted[0]) < min(high, wanted[1]):
            return True
    return False


def _range(spec: str, *, caret: bool) -> _Range:
    """The numbers from the first to just before the second that a list of bounds admits together."""
    low, high = _FIRST, _LAST
    for sign, number in _BOUND.findall(spec):
        least, beyond = _bounds(sign or ("^" if caret else "="), tuple(map(int, number.split(".")[:3])))
        low, high = max(low, least), min(high, beyond)
    return low, high


def _bounds(sign: str, number: tuple[int, ...]) -> _Range:
    least = _padded(number)
    match sign:
        case ">=" | ">":
            return least, _LAST
        case "<":
            return _FIRST, least
        case "<=":
            return _FIRST, _after(number, len(number))
        case "!=":
            return _FIRST, _LAST
        case "^":
            kept = next((at for at, part in enumerate(number, 1) if part), len(number))
            return least, _after(number, kept)
        case "~":
            return least, _after(number, min(2, len(number)))
        case "~=" | "~>":
            return least, _after(number, max(1, len(number) - 1))
        case _:
            return least, _after(number, len(number))


def _padded(number: tuple[int, ...]) -> _Number:
    first, second, third = (*number, 0, 0, 0)[:3]
    return first, second, third


def _after(number: tuple[int, ...], kept: int) -> _Number:
    """The first number whose leading `kept` parts are beyond those of this one."""
    return _padded((*number[: kept - 1], number[kept - 1] + 1))

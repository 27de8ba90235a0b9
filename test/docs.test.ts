// Everything that the Markdown files name must exist: linked pages and headings, paths, functions, commands, error
// codes and environment variables.

import { describe, expect, test } from 'bun:test'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { EVM_NETWORKS, NETWORKS } from '../src/platform/networks.ts'
import { OPERATOR_METHODS } from '../src/vault/contract/methods.ts'

const ROOT = resolve(import.meta.dir, '..')
const PAGES = ['.', 'docs', 'docs/decisions', 'client', '.github', '.github/ISSUE_TEMPLATE']
const CODE = ['src', 'jobs', 'db', 'devnet', 'test', 'bench', 'client/src']

type Page = {
  readonly path: string
  readonly text: string
  /** Without fenced code. */
  readonly prose: string
}

const namesIn = (folder: string, ending: string): string[] =>
  readdirSync(join(ROOT, folder))
    .filter((name) => name.endsWith(ending))
    .map((name) => join(folder, name))

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8')

const pages: Page[] = PAGES.flatMap((folder) => namesIn(folder, '.md')).map((path) => {
  const text = read(path)
  return { path, text, prose: text.replace(/^[ \t]*```[\s\S]*?^[ \t]*```[ \t]*$/gm, '') }
})

const codeFiles = CODE.flatMap((folder) =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name))),
)

const withoutCode = (prose: string) => prose.replace(/`[^`\n]*`/g, '')

/** The anchor that GitHub gives a heading. */
const slugOf = (heading: string) =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replace(/\s/g, '-')

const anchorsOf = (prose: string) => {
  const seen = new Map<string, number>()
  return new Set(
    [...prose.matchAll(/^#{1,6} +(.+?) *$/gm)].map(([, heading = '']) => {
      const slug = slugOf(heading)
      const before = seen.get(slug) ?? 0
      seen.set(slug, before + 1)
      return before === 0 ? slug : `${slug}-${before}`
    }),
  )
}

/** Each find of a pattern in the pages, with the page that it is on. */
const finds = (pattern: RegExp, of: (page: Page) => string = (page) => page.prose) =>
  pages.flatMap((page) => [...of(page).matchAll(pattern)].map((match) => ({ page: page.path, match })))

const links = finds(/\]\(([^)\s]+)\)/g, (page) => withoutCode(page.prose))
  .map(({ page, match }) => ({ page, target: match[1] ?? '' }))
  .filter(({ target }) => !/^[a-z]+:/.test(target))

describe('links between pages', () => {
  test('there are some', () => {
    expect(pages.length).toBeGreaterThan(15)
    expect(links.length).toBeGreaterThan(50)
    expect(links.filter(({ target }) => target.includes('#')).length).toBeGreaterThan(15)
  })

  test('each leads to a file of the repository', () => {
    const broken = links.filter(({ page, target }) => {
      const [file = ''] = target.split('#')
      return file !== '' && !existsSync(join(ROOT, dirname(page), file))
    })
    expect(broken).toEqual([])
  })

  test('each anchor is a heading of its page', () => {
    const broken = links.filter(({ page, target }) => {
      const [file = '', anchor] = target.split('#')
      if (anchor === undefined) return false
      const goal = pages.find(({ path }) => path === (file === '' ? page : join(dirname(page), file)))
      return goal === undefined || !anchorsOf(goal.prose).has(anchor)
    })
    expect(broken).toEqual([])
  })

  test('each page of docs can be reached from the README', () => {
    const reached = new Set<string>()
    const visit = (path: string): void => {
      if (reached.has(path)) return
      reached.add(path)
      for (const { page, target } of links) {
        if (page === path) visit(join(dirname(page), target.split('#')[0] || '.'))
      }
    }
    visit('README.md')
    expect(pages.map(({ path }) => path).filter((path) => path.startsWith('docs/') && !reached.has(path))).toEqual([])
  })
})

// A page about the past may name what is gone.
const replaced = new Set(pages.filter(({ prose }) => /^.*\*\*State\*\*: replaced/m.test(prose)).map(({ path }) => path))

const spans = finds(/`([^`\n]+)`/g)
  .filter(({ page }) => !replaced.has(page))
  .map(({ page, match }) => ({ page, span: match[1] ?? '' }))

describe('code that pages name', () => {
  const paths = spans.filter(({ span }) => /^(src|jobs|db|devnet|test|docs|deploy)\/[\w./-]*$/.test(span))

  test('each path exists', () => {
    expect(paths.length).toBeGreaterThan(100)
    expect(paths.filter(({ span }) => !existsSync(join(ROOT, span)))).toEqual([])
  })

  test('each file that is named without its folder exists', () => {
    const names = spans.filter(({ span }) => /^[a-z0-9-]+(\/[a-z0-9-]+)*\.(ts|sql|sol)$/.test(span))
    const isThere = ({ page, span }: (typeof names)[number]) =>
      existsSync(join(ROOT, span)) || existsSync(join(ROOT, dirname(page), span)) || named(span)
    const named = (name: string) => codeFiles.some((path) => path.endsWith(`/${name}`))
    expect(names.length).toBeGreaterThan(10)
    expect(names.filter((each) => !isThere(each))).toEqual([])
  })

  // Two forms: `src/a/b.ts`: `one`, `two` — and `one` in `src/a/b.ts`.
  const afterPath = finds(/`([\w/.-]+\.ts)`:\s+((?:`\w+`(?:,\s+|\s+and\s+)?)+)/g).flatMap(({ page, match }) =>
    [...(match[2] ?? '').matchAll(/`(\w+)`/g)].map(([, name = '']) => ({ page, path: match[1] ?? '', name })),
  )
  const beforePath = finds(/`(\w+)`\s(?:in|of)\s`([\w/.-]+\.ts)`/g).map(({ page, match }) => ({
    page,
    path: match[2] ?? '',
    name: match[1] ?? '',
  }))

  test('each function that is named with its file is declared there', () => {
    const isDeclared = ({ path, name }: { path: string; name: string }) =>
      existsSync(join(ROOT, path)) &&
      new RegExp(`\\b(?:const|let|function|type|class) ${name}\\b|^\\s+(?:readonly )?${name}\\??[:(]`, 'm').test(
        read(path),
      )
    const named = [...afterPath, ...beforePath].filter(({ page }) => !replaced.has(page))
    expect(named.length).toBeGreaterThan(50)
    expect(named.filter((each) => !isDeclared(each))).toEqual([])
  })
})

describe('commands and error codes in pages', () => {
  test('each script that is named is in package.json', () => {
    const scripts = Object.keys(JSON.parse(read('package.json')).scripts)
    const named = finds(/\b(?:bun(?:@[\d.]+)?|npm) run ([a-z][\w:]*)/g, (page) => page.text)
    expect(named.length).toBeGreaterThan(20)
    expect(
      named.filter(({ match }) => !scripts.includes(match[1] ?? '')).map(({ page, match }) => [page, match[0]]),
    ).toEqual([])
  })

  test('each error code that is named with its status is in src/platform/errors.ts, with that status', () => {
    const statusOf = new Map(
      [...read('src/platform/errors.ts').matchAll(/^\s+(\w+): (\d{3}),/gm)].map(([, code, status]) => [code, status]),
    )
    const named = finds(/\b([45]\d\d),? `([a-z]+_[a-z_]+)`/g)
    expect(named.length).toBeGreaterThan(15)
    expect(
      named.filter(({ match }) => statusOf.get(match[2] ?? '') !== match[1]).map(({ page, match }) => [page, match[0]]),
    ).toEqual([])
  })
})

test('the README can be read in five minutes: it has at most 150 lines', () => {
  expect(read('README.md').split('\n').length).toBeLessThanOrEqual(150)
})

describe('tables that name the code', () => {
  const rowsOf = (path: string) => {
    const { prose = '' } = pages.find((page) => page.path === path) ?? {}
    return [...prose.matchAll(/^\| ([^|\n]+) \|/gm)].map(([, cell = '']) => cell)
  }
  const configuration = [
    'src/platform/config.ts',
    'src/platform/environment/places.ts',
    'src/platform/tracing/settings.ts',
  ]
    .map(read)
    .join('\n')
  const literals = [...configuration.matchAll(/'([A-Z][A-Z_]{3,})'|variables\.([A-Z][A-Z_]{3,})/g)].map(
    ([, quoted, member]) => quoted ?? member ?? '',
  )
  const documented = rowsOf('docs/configuration.md').flatMap((cell) =>
    [...cell.matchAll(/`([A-Z_]+)`/g)].map(([, name = '']) => name),
  )

  test('configuration.md has each variable that the configuration reads, and no other', () => {
    expect(documented.length).toBeGreaterThan(40)
    const isRead = (name: string) => literals.some((literal) => name === literal || name.endsWith(`_${literal}`))
    const isDocumented = (literal: string) =>
      documented.some((name) => name === literal || name.endsWith(`_${literal}`))
    expect(documented.filter((name) => !isRead(name))).toEqual([])
    expect(literals.filter((literal) => !isDocumented(literal))).toEqual([])
  })

  test('each page that lists the networks has all of them', () => {
    const lacking = (path: string, named: (network: string) => string, networks: readonly string[] = NETWORKS) =>
      networks.map(named).filter((name) => !new RegExp(`\\b${name}\\b`).test(read(path)))
    for (const path of ['README.md', 'docs/networks.md', 'docs/api.md'])
      expect({ path, lacking: lacking(path, (network) => network) }).toEqual({ path, lacking: [] })
    const variables = 'docs/configuration.md'
    expect(lacking(variables, (network) => `${network.toUpperCase()}_RPC_URL`)).toEqual([])
    expect(lacking(variables, (network) => `${network.toUpperCase()}_MAX_FEE_GWEI`, EVM_NETWORKS)).toEqual([])
    expect(lacking('docs/operations.md', (network) => network, EVM_NETWORKS)).toEqual([])
  })

  test('custody.md names each method that only an operator may ask', () => {
    const page = read('docs/custody.md')
    expect(Object.keys(OPERATOR_METHODS).filter((name) => !page.includes(`\`${name}\``))).toEqual([])
  })

  test('each table that architecture.md names is one of the schema', () => {
    const schema = codeFiles
      .filter((path) => path.startsWith('db/schema/'))
      .map(read)
      .join('\n')
    const [, section = ''] = /^## Main tables\n([\s\S]*?)^## /m.exec(read('docs/architecture.md')) ?? []
    const tables = [...section.matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name),
    )
    expect(tables.length).toBeGreaterThan(20)
    expect(tables.filter((name) => !new RegExp(`pgTable\\(\\s*'${name}'`).test(schema))).toEqual([])
  })

  const wordsIn = (tables: string) =>
    [...tables.matchAll(/^\| ([^|(`]+?)(?: \([^|]*\))?(?:, `[^|]*`)? \| [A-Z`]/gm)].flatMap(([, cell = '']) =>
      cell.split(', '),
    )
  const isUsed = (word: string, code: string) => new RegExp(word.replaceAll(' ', '[ _-]?'), 'i').test(code)
  const codeOf = (paths: readonly string[]) =>
    paths
      .filter((path) => path.endsWith('.ts'))
      .map(read)
      .join('\n')

  test("each word of the code's glossary is used by the code", () => {
    const [, glossary = ''] = read('docs/architecture.md').split('\n## Words in the code\n')
    const code = codeOf(codeFiles.filter((path) => !path.startsWith('test/')))
    expect(wordsIn(glossary).length).toBeGreaterThan(30)
    expect(wordsIn(glossary).filter((word) => !isUsed(word, code))).toEqual([])
  })

  test('each word of the glossary is used by the code or its tests, and is in one of the two glossaries', () => {
    const words = wordsIn(read('docs/glossary.md'))
    const [, glossary = ''] = read('docs/architecture.md').split('\n## Words in the code\n')
    // The code's glossary says that these two are also a type and a table.
    const also = ['vault', 'deployment']
    const both = words.filter((word) => !also.includes(word) && wordsIn(glossary).includes(word))
    const code = codeOf(codeFiles.filter((path) => path !== 'test/docs.test.ts'))
    expect(words.length).toBeGreaterThan(50)
    expect(words.filter((word) => !isUsed(word, code))).toEqual([])
    expect(both).toEqual([])
    expect(new Set(words).size).toBe(words.length)
  })
})

// The rules of the house as a test: where each thing may be imported, and what no file may contain.

import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { getTableName } from 'drizzle-orm'
import { PgTable } from 'drizzle-orm/pg-core'
import { exports as entries } from '../client/package.json'
import * as schema from '../db/schema.ts'
import { TableAccess } from '../db/tables.ts'
import { ROOT, readSource, readSources, scriptsIn } from './support/imports.ts'

const MAX_FILE_LINES = 400
/** As biome formats code. */
const MAX_COLUMNS = 120
const MAX_FUNCTION_LINES = 70

const files = readSources()

const isPackage = (name: string, packages: readonly string[]) =>
  packages.some((each) => name === each || name.startsWith(`${each}/`) || (each.endsWith('/') && name.startsWith(each)))

/** Every import of `what` outside of `allowed`, as `file → import`; types are left out if only values count. */
const strays = (
  what: (name: string) => boolean,
  allowed: (path: string) => boolean,
  counted: 'imports' | 'loads' = 'imports',
): string[] =>
  files
    .filter((file) => !allowed(file.path))
    .flatMap((file) => file[counted].filter(what).map((name) => `${file.path} → ${name}`))

const within =
  (...starts: readonly string[]) =>
  (path: string) =>
    starts.some((start) => path === start || (start.endsWith('/') && path.startsWith(start)))

const matching =
  (...patterns: readonly RegExp[]) =>
  (path: string) =>
    patterns.some((pattern) => pattern.test(path))

test('there are files to check', () => {
  expect(files.length).toBeGreaterThan(50)
  expect(files.flatMap((file) => file.imports).length).toBeGreaterThan(200)
})

describe('who may import whom', () => {
  /** A folder imports only those before it. The programs, last, import all, and nobody imports them. */
  const ORDER = [
    'db',
    'src/platform',
    'src/vault',
    'src/chains',
    'src/blocks',
    'src/identity',
    'src/signing',
    'src/assets',
    'src/events',
    'src/operators',
    'src/api',
    'jobs',
    'src/main',
  ]
  const folderOf = (path: string): string => /^(?:src\/[a-z-]+(?=\/)|db(?=\/)|jobs(?=\/))/.exec(path)?.[0] ?? path
  const isOrdered = (name: string) => /^(src|jobs|db)\//.test(name)

  test('these folders hold all of src, jobs and db', () => {
    const folders = new Set(
      files
        .map(({ path }) => path)
        .filter(isOrdered)
        .map(folderOf),
    )
    expect([...folders].toSorted()).toEqual(ORDER.toSorted())
  })

  test('no import runs back up, of types neither', () => {
    const back = files.flatMap((file) => {
      const place = ORDER.indexOf(folderOf(file.path))
      if (place < 0) return []
      return file.imports
        .filter((name) => isOrdered(name) && ORDER.indexOf(folderOf(name)) > place)
        .map((name) => `${file.path} → ${name}`)
    })
    expect(back).toEqual([])
  })

  test('nobody imports tests', () => {
    expect(strays(within('test/'), () => false)).toEqual([])
  })

  test('the product imports nothing of the devnet', () => {
    expect(strays(within('devnet/'), within('devnet/'))).toEqual([])
  })

  test('the client imports nothing of the service, and nobody the client', () => {
    const others = within('src/', 'jobs/', 'db/', 'devnet/')
    expect(strays(others, (path) => !path.startsWith('client/'))).toEqual([])
    expect(
      strays((name) => within('client/')(name) || isPackage(name, ['strongroom-client']), within('client/')),
    ).toEqual([])
  })

  test('what loads a library of the client is an entry of its own', () => {
    const adapters = matching(
      /^client\/(generate|src\/(viem|ethers|polkadot|eip1193|wagmi)|src\/react\/[a-z-]+)\.tsx?$/,
    )
    expect(
      strays(
        (name) => !within('client/')(name),
        (path) => !path.startsWith('client/') || adapters(path),
      ),
    ).toEqual([])
  })

  test('db/words.ts imports nothing', () => {
    expect(readSource('db/words.ts').imports).toEqual([])
  })

  test('drizzle stays in db', () => {
    expect(strays((name) => isPackage(name, ['drizzle-orm']), within('db/'))).toEqual([])
  })

  test('graphile-worker and pg stay in jobs, db and the devnet', () => {
    expect(strays((name) => isPackage(name, ['graphile-worker', 'pg']), within('jobs/', 'db/', 'devnet/'))).toEqual([])
  })

  test('openid-client stays in src/identity/issuers', () => {
    expect(strays((name) => isPackage(name, ['openid-client']), within('src/identity/issuers/'))).toEqual([])
  })

  test('viem is loaded by its utils: the whole takes 25 ms of each start', () => {
    expect(
      strays(
        (name) => name === 'viem',
        () => false,
        'loads',
      ),
    ).toEqual([])
  })

  test('nodemailer stays in src/identity/mail', () => {
    expect(strays((name) => isPackage(name, ['nodemailer']), within('src/identity/mail/'))).toEqual([])
  })

  test('a verb does not know HTTP: elysia stays in the app, routes, schemas and the auth plugin', () => {
    const edge = matching(
      /^src\/api\/app\.ts$/,
      /^src\/[a-z]+\/(?:[a-z-]+\/)?([a-z]+-)?(routes|schema)\.ts$/,
      /^src\/identity\/auth\/plugin\.ts$/,
    )
    expect(strays((name) => isPackage(name, ['elysia', '@elysiajs/']), edge)).toEqual([])
  })

  test('of the database, HTTP knows words and troubles alone', () => {
    const outside = (name: string) =>
      /^db\//.test(name) && !['db/words.ts', 'db/trouble.ts', 'db/written.ts'].includes(name)
    expect(strays(outside, (path) => !path.startsWith('src/platform/http/'))).toEqual([])
  })

  test('each chain library stays in its family', () => {
    expect(strays((name) => isPackage(name, ['viem']), within('src/chains/evm/', 'devnet/', 'client/'))).toEqual([])
    // schnorrkel alone, which signs.
    const polkadot = within('src/chains/substrate/', 'devnet/', 'src/vault/rooms/keys/sr25519.ts', 'client/')
    expect(strays((name) => isPackage(name, ['@polkadot/']), polkadot)).toEqual([])
    expect(strays((name) => isPackage(name, ['@acala-network/', '@substrate/']), within('devnet/'))).toEqual([])
    expect(
      strays((name) => isPackage(name, ['@simplewebauthn/', '@levischuck/']), within('src/identity/auth/')),
    ).toEqual([])
  })

  test('signing-key libraries stay in the vault', () => {
    const libraries = [
      'secp256k1',
      '@noble/curves',
      '@scure/bip32',
      '@scure/bip39',
      '@scure/sr25519',
      '@polkadot/wasm-crypto-wasm',
      '@node-rs/argon2',
    ]
    // cose-key.ts checks the points of passkeys' public keys and messages.ts signatures. Neither holds a secret.
    const places = within('src/vault/', 'devnet/', 'src/identity/auth/cose-key.ts', 'src/chains/substrate/messages.ts')
    expect(strays((name) => isPackage(name, libraries), places)).toEqual([])
  })

  test('chains import no database, and of the vault only what is signed', () => {
    const outside = (name: string) =>
      (/^db\//.test(name) && name !== 'db/words.ts') ||
      (/^src\/vault\//.test(name) && name !== 'src/vault/language/payload.ts')
    expect(strays(outside, (path) => !path.startsWith('src/chains/'))).toEqual([])
  })

  test('other folders import only the files at the root of src/chains', () => {
    expect(strays((name) => /^src\/chains\/[a-z-]+\//.test(name), within('src/chains/', 'devnet/'))).toEqual([])
  })

  test('the vault imports few packages', () => {
    const elsewhere = (path: string) => !path.startsWith('src/vault/')
    const keys = ['@noble/curves', '@noble/hashes', '@scure/bip39', '@polkadot/wasm-crypto-wasm/cjs/bytes']
    const packages = [...keys, '@node-rs/argon2', '@sinclair/typebox']
    const services = ['@aws-sdk/client-kms', '@google-cloud/kms']
    const foreign = (name: string) => !/^(src|db|jobs|node:)/.test(name) && !isPackage(name, [...packages, ...services])
    expect(strays(foreign, elsewhere)).toEqual([])
  })

  test('other folders import nothing of the rooms of the vault, no type either, but for its program', () => {
    const rooms = within('src/vault/rooms/')
    expect(strays(rooms, within('src/vault/rooms/', 'src/main/vault.ts', 'src/main/open-vault.ts'))).toEqual([])
    const inner = within('src/platform/deployment.ts', 'src/platform/audit/audit.ts')
    const programs = ['src/main/keyed-contexts.ts', 'src/main/open-vault.ts']
    // The doctor compares keys as a program does at its start.
    const users = within('src/vault/', ...programs, 'src/operators/audit/', 'src/operators/doctor/keys.ts')
    expect(strays(inner, users, 'loads')).toEqual([])
  })

  test('only the vault queries its tables', () => {
    const allowed = within('src/vault/', 'db/queries/vault/', 'src/platform/deployment.ts', 'src/platform/audit/')
    expect(strays(within('db/queries/vault/'), allowed)).toEqual([])
  })

  test('routes call verbs', () => {
    const depths = (name: string) => /^(db\/|src\/chains\/|src\/vault\/)/.test(name) && name !== 'db/words.ts'
    const isRoutes = (path: string) => /^src\/[a-z]+\/(?:[a-z-]+\/)?([a-z]+-)?routes\.ts$/.test(path)
    expect(strays(depths, (path) => !isRoutes(path), 'loads')).toEqual([])
  })
})

test('there are no import cycles', () => {
  const graph = new Map(files.map((file) => [file.path, file.imports.filter((name) => /^(src|db|jobs)\//.test(name))]))
  const state = new Map<string, 'open' | 'done'>()
  const cycles: string[] = []
  const visit = (path: string, trail: readonly string[]): void => {
    if (state.get(path) === 'done') return
    if (state.get(path) === 'open') {
      cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      return
    }
    state.set(path, 'open')
    for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
    state.set(path, 'done')
  }
  // Types vanish at run time, so a type-only import closes no cycle.
  for (const file of files) {
    const typeOnly = [...file.text.matchAll(/(?:^|\n)import type[^'"]*['"]([^'"]+)['"]/g)].map((match) =>
      relative(ROOT, resolve(ROOT, dirname(file.path), match[1] ?? '')),
    )
    graph.set(
      file.path,
      (graph.get(file.path) ?? []).filter((name) => !typeOnly.includes(name)),
    )
  }
  for (const path of graph.keys()) visit(path, [])
  expect(cycles).toEqual([])
})

describe('a table that decides who may do something', () => {
  /** What else an API, a command or the console writes, and why nobody gains from an undone write there. */
  const OTHERS: Readonly<Record<string, string>> = {
    abiItems: 'without its items an ABI names no function, and an item that stayed is named by `audit verify`',
    backfills: 'history',
    collections: 'history',
    contractFacts: 'an API asks the node for what is not there',
    createdTokens: 'logos',
    eventCounters: 'events; a receiver sees a gap',
    events: 'events; a receiver sees a gap',
    hostedImages: 'logos',
    idempotencyKeys: 'compared where it is written, in the round trip of a signature',
    ladders: 'nothing is sent without it',
    listedTokens: 'names of tokens',
    lostTransactions: 'a repetition is let through as before there was such a row',
    metadataDocuments: 'metadata of NFTs',
    signers: 'a row to lock',
    throttles: 'counts without a MAC, which anybody with the database sets',
    tokenUris: 'metadata of NFTs',
    transactions: 'nothing is sent without it',
    wallets: 'the vault has it before, and `audit verify` compares',
    webhookDeliveries: 'a receiver sees a gap',
  }
  /** Tables of the vault, and the deployment, which only its owner changes. */
  const ELSEWHERE = ['audit', 'deployment']
  /** Writes of other files, their number and why. */
  const ALLOWED: readonly (readonly [write: string, times: number, why: string])[] = [
    ['approvals.ts approvals', 1, 'a worker notes which have expired'],
    ['key-rotation.ts tokenKeys', 1, 'a row that stays is sealed with a key that no longer counts'],
    ['logins.ts emailCodes', 1, 'a try is compared there, in one statement'],
    ['logins.ts users', 1, 'a worker deletes those that are over'],
    ['mails.ts mails', 6, 'a worker sends them'],
    ['operators.ts operatorTokens', 1, 'tokens that are over'],
    ['sessions.ts sessions', 1, 'a refresh is compared there, in prepared statements'],
    ['token-keys.ts tokenKeys', 1, 'keys whose tokens are over'],
    ['api-keys.ts apiKeys', 1, 'when a key was last used'],
    ['webhook-deliveries.ts webhookEndpoints', 3, 'a worker notes how its last request ended'],
  ]

  const tables = Object.entries(schema).flatMap(([name, each]) =>
    each instanceof PgTable ? [{ name, table: getTableName(each) }] : [],
  )
  const writable = Object.values(schema).flatMap((each) =>
    each instanceof TableAccess && /insert|update|delete/.test(`${each.rights.api} ${each.rights.console}`)
      ? [each.table]
      : [],
  )
  const deciding = tables.filter(
    ({ name, table }) => writable.includes(table) && !(name in OTHERS) && !ELSEWHERE.includes(name),
  )
  const queries = files.filter(({ path }) => /^db\/queries\/[a-z-]+\.ts$/.test(path))

  test('is written by db/deciding-rows.ts, which looks whether it was', () => {
    expect(deciding.length).toBeGreaterThan(15)
    const own = queries.flatMap(({ path, text }) =>
      deciding.flatMap(({ name, table }) => {
        const [drizzle, raw] = [
          `\\.(?:insert|update|delete)\\(${name}\\)`,
          `(?:insert into|update|delete from) (?:public\\.${table}\\b|\\$\\{${name}\\})`,
        ]
        const times = [...text.matchAll(new RegExp(`${drizzle}|${raw}`, 'g'))].length
        return times === 0 ? [] : [`${path.slice('db/queries/'.length)} ${name}, ${times} times`]
      }),
    )
    expect(own.sort()).toEqual(ALLOWED.map(([write, times]) => `${write}, ${times} times`).sort())
  })

  test('has its writes tried on a database that undoes them', () => {
    const text = readFileSync(join(ROOT, 'test/security/undone-writes.test.ts'), 'utf8')
    const untried = deciding.map(({ table }) => table).filter((table) => !text.includes(`['${table}', '`))
    expect(untried).toEqual([])
    expect(Object.keys(OTHERS).filter((name) => !tables.some((each) => each.name === name))).toEqual([])
  })
})

describe('what no file may contain', () => {
  const found = (pattern: RegExp, allowed: (path: string) => boolean = () => false): string[] =>
    files
      .filter((file) => !allowed(file.path))
      .flatMap((file) =>
        file.text
          .split('\n')
          .map((line, index) => ({ line, at: `${file.path}:${index + 1}` }))
          .filter(({ line }) => pattern.test(line.replace(/^\s*(\*|\/\/|\/\*).*$/, '')))
          .map(({ at }) => at),
      )

  test('the environment is read only in config.ts, and handed to a command by its process', () => {
    const allowed = within('src/platform/config.ts', 'src/main/cli.ts', 'devnet/')
    expect(found(/\bprocess\.env\b|\bBun\.env\b/, allowed)).toEqual([])
  })

  test('no code outside of src/chains tests for a family, not even by the form of an address', () => {
    const tests = [/\bfamily(?:Of)?\b[^,;{}]*[!=]==/, /\bif \(.*\bchainId [!=]== null/, /\.startsWith\('0x'\)/]
    for (const pattern of tests) expect(found(pattern, within('src/chains/', 'src/platform/networks/'))).toEqual([])
    // The vault has a key type for each family, and knows no chain.
    const families = within('src/chains/', 'src/vault/', 'src/platform/networks/', 'db/words.ts', 'devnet/')
    expect(found(/'(?:evm|substrate)'/, families)).toEqual([])
  })

  test('missing features of a network are refused in one place', () => {
    const elsewhere = (path: string) => !path.startsWith('src/chains/') || path === 'src/chains/provided.ts'
    expect(found(/'not_implemented'/, elsewhere)).toEqual([])
  })

  test('a network is named only in its own file, which has a field for each difference', () => {
    const names = scriptsIn('src/platform/networks').flatMap(
      (path) => /network: '(\w+)'/.exec(readSource(path).text)?.[1] ?? [],
    )
    expect(names.length).toBeGreaterThanOrEqual(6)
    const some = names.join('|')
    const isElsewhere = (path: string) => !within('src/platform/networks/', 'devnet/')(path)
    const named = new RegExp(`(['"\`])(?:${some})\\1|^\\s*(?:${some}):`)
    // In descriptions of the API too, except as a value in an example: they say "Substrate networks". "Base units" are
    // no network.
    const isOfApi = matching(/^src\/[a-z]+\/(?:[a-z-]+\/)?([a-z-]+-)?(schema|routes)\.ts$/)
    const example = `(?:network: |examples: \\[)'(?:${some})'|examples: \\[\\{ '?(?:${some})(?:#1')?:`
    const said = new RegExp(`^(?!.*(?:${example})).*\\b(?:${some})\\b(?! units)`)
    const isMade = matching(/\.generated\.ts$/)
    expect(found(named, (path) => !isElsewhere(path) || isOfApi(path) || isMade(path))).toEqual([])
    expect(found(said, (path) => !isOfApi(path))).toEqual([])
  })

  test('only the command line and the devnet print', () => {
    expect(found(/\bconsole\.\w+\(/, within('src/operators/cli/', 'devnet/'))).toEqual([])
  })

  test('only runtime.ts uses what only one runtime has', () => {
    const allowed = within('src/platform/environment/runtime.ts', 'devnet/')
    expect(found(/\bBun\.|\bDeno\.|\bimport\.meta\.(dir|path|file)\b/, allowed)).toEqual([])
    expect(strays((name) => name === 'bun' || name.startsWith('bun:'), allowed)).toEqual([])
  })

  test('no `any`, no suppressed errors and no non-null assertions', () => {
    expect(found(/:\s*any\b|\bas any\b|<any>|@ts-(ignore|expect-error|nocheck)|biome-ignore/)).toEqual([])
    expect(found(/[\w)\]]!(?=[.;,)\]\s[])(?!=)/, within('devnet/'))).toEqual([])
  })

  test('file names are in kebab case', () => {
    const everywhere = [...files.map((file) => file.path), ...scriptsIn('test'), ...scriptsIn('bench')]
    expect(everywhere.filter((path) => /[A-Z_]/.test(path) && !/\.sol$/.test(path))).toEqual([])
  })

  test('no folders or files for odds and ends', () => {
    const names = /(^|\/)(utils?|helpers?|common|shared|misc)(\/|\.ts$|-)/
    expect(files.map((file) => file.path).filter((path) => names.test(path))).toEqual([])
  })

  test('no literal is spread to have it on fewer lines', () => {
    const endOf = (text: string, from: number): number => {
      let depth = 0
      for (let at = from; at < text.length; at += 1) {
        if ('[{('.includes(text.charAt(at))) depth += 1
        else if (']})'.includes(text.charAt(at))) depth -= 1
        if (depth === 0) return at
      }
      return text.length
    }
    const spread = files.flatMap(({ path, text }) =>
      [...text.matchAll(/\.\.\.(?=[[{])/g)]
        .map(({ index }) => index + '...'.length)
        // What follows a literal alone; `...[a, b].map(…)` is another value.
        .filter((start) => /^\s*[,)\]}]/.test(text.slice(endOf(text, start) + 1)))
        .map((start) => `${path}:${text.slice(0, start).split('\n').length}`),
    )
    expect(spread).toEqual([])
  })

  test('`@throws` names what a function itself throws, or an error that somebody acts on', () => {
    const code = new Map(files.map(({ path, text }) => [path, text.replace(/\/\*[\s\S]*?\*\/|^\s*\/\/.*$/gm, '')]))
    const isThrown = (path: string, name: string) =>
      new RegExp(name === 'Error' ? '\\bthrow\\b' : `'${name}'|new ${name}\\(|throw ${name}\\b`).test(
        code.get(path) ?? '',
      )
    const isActedOn = (name: string) =>
      [...code].some(
        ([path, each]) =>
          !within('devnet/')(path) && new RegExp(`instanceof ${name}\\b|code [!=]== '${name}'`).test(each),
      )
    const unfounded = files
      .filter(({ path }) => !within('devnet/')(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(/@throws([^@]*?)(?=\s@[a-z]+\s|\*\/)/g)].flatMap(([, words = '']) => {
          const names = [...words.matchAll(/\b(?:[a-z]+_\w+|[A-Z]+_\w+|[A-Z][a-z]+[A-Z]\w*|Error)\b/g)].map(
            ([name]) => name,
          )
          // The types at the root of src/chains are carried out in the families.
          const places = /^src\/chains\/[a-z-]+\.ts$/.test(path) ? files.map((each) => each.path) : [path]
          return names
            .filter((name) => !isActedOn(name) && !places.some((each) => isThrown(each, name)))
            .map((name) => `${path}: ${name}`)
        }),
      )
    expect(unfounded).toEqual([])
  })

  test('src has few files at its root', () => {
    // Three of them start a process each.
    expect(files.filter(({ path }) => /^src\/[^/]+$/.test(path)).length).toBeLessThanOrEqual(8)
  })

  test('modules keep only the state that src/main/contexts.ts names', () => {
    // An object that is made empty, or from options alone, is there to be filled; one in capitals never changes again.
    const memory = /^(?:let |(?:export )?const [a-z]\w*(?: *:[^=]+)? = (?:new \w|createBoundedMap)[^(]*\((?:\)|\{))/
    const places = files
      .filter(({ path, text }) => text.split('\n').some((line) => memory.test(line)) && !within('devnet/')(path))
      // These run in a browser's page.
      .filter(
        ({ path }) =>
          !within('src/api/login/client/', 'src/operators/console/client/', 'client/src/tab-storage.ts')(path),
      )
    expect(places.map(({ path }) => path).sort()).toEqual([
      'db/queries/vault/proofs.ts',
      'src/assets/activity/check-balances.ts',
      'src/assets/activity/read-range.ts',
      'src/chains/evm/address.ts',
      'src/chains/substrate/vnft.ts',
      'src/identity/auth/throttle.ts',
      'src/platform/http/gate.ts',
      'src/platform/http/peer.ts',
      'src/platform/name-uuid.ts',
      'src/platform/tracing/timings.ts',
      'src/vault/language/typed-data.ts',
      'src/vault/rooms/keys/key-types.ts',
      'src/vault/rooms/keys/sr25519.ts',
    ])
  })

  test('no name comes back that had another one beside it, or that says nothing', () => {
    // Two words for one thing, pictures for a plain act, and names without a noun or a verb. The glossary is in
    // docs/architecture.md.
    const gone =
      /\b(?:[a-z]+Custody|Custody[A-Z]\w*|\w*[Oo]bstacle\w*|ringAll|ringForNews|Couriers|createCouriers|becomeOf)\b/
    const parts = /^\s*(?:export )?(?:const|let) (?:told|ours|theirs|among|whoever|somebody|anybody)\b/
    // A parameter has a noun. As a field of callers, as a list's element and as a method it stays.
    const ofWhat = /(?:\(|, )of: (?:\{|[A-Z])|^\s+of: \{/
    const src = files.filter(({ path }) => /^(src|jobs|db)\//.test(path) && !path.includes('generated'))
    const found = src.flatMap(({ path, text }) =>
      text
        .split('\n')
        .map((line, at) => ({ at: `${path}:${at + 1}`, line: line.replace(/^\s*(\*|\/\/|\/\*).*$/, '') }))
        .filter(({ line }) => [gone, parts, ofWhat].some((each) => each.test(line)))
        .map(({ at }) => at),
    )
    expect(found).toEqual([])
  })

  test('no notes about unfinished work', () => {
    expect(found(/\bTODO\b|\bFIXME\b|\bXXX\b/)).toEqual([])
  })
})

describe('what no test file may do', () => {
  test('rotate a key of the service that all files of its process share', () => {
    const rotating = scriptsIn('test').filter((path) => {
      const { imports, text } = readSource(path)
      return imports.includes('test/support/common-service.ts') && /'rotate-(?:identity|service|root)'/.test(text)
    })
    expect(rotating).toEqual([])
  })
})

describe('nothing is without an importer', () => {
  const ENTRIES = [
    'client/src/index.ts',
    'devnet/chopsticks-node.ts',
    'devnet/demo.ts',
    'devnet/dev.ts',
    'src/api/login/client/main.ts',
    'src/main/api.ts',
    'src/main/check-health.ts',
    'src/main/cli.ts',
    'src/main/console.ts',
    'src/main/vault.ts',
    'src/main/worker.ts',
    'src/operators/console/client/main.ts',
  ]
  /** What is imported of a file by name; `*` where it is imported as a whole. */
  const importedBy = (importers: readonly { readonly path: string; readonly text: string }[]) => {
    const imported = new Map<string, Set<string>>()
    for (const { path, text } of importers) {
      const note = (specifier: string, names: readonly string[]) => {
        const of = relative(ROOT, resolve(ROOT, dirname(path), specifier))
        imported.set(of, new Set([...(imported.get(of) ?? []), ...names]))
      }
      for (const [, clause = '', specifier = ''] of text.matchAll(
        /(?:^|\n)\s*(?:import|export)\b([^'"`;]*?)\bfrom\s*['"](\.[^'"]+)['"]/g,
      )) {
        const braced = /\{([^}]*)\}/.exec(clause)?.[1] ?? ''
        const names = braced.split(',').map((each) => /^(?:type\s+)?(\w+)/.exec(each.trim())?.[1] ?? '')
        note(specifier, clause.includes('*') ? ['*'] : names)
      }
      for (const [, specifier = ''] of text.matchAll(/(?:\bimport\(|^import)\s*['"](\.[^'"]+)['"]/gm))
        note(specifier, ['*'])
    }
    return imported
  }
  const byProduct = importedBy(files)
  const byAll = importedBy([...files, ...['test', 'bench'].flatMap(scriptsIn).map(readSource)])

  /** Where tests may import more than the product does, and why. */
  const TESTED_ALONE = {
    'held against vectors, and answers of nodes and contracts, that others published': [
      'src/chains/',
      'src/platform/networks.ts',
      'src/vault/rooms/credentials/',
      'src/vault/rooms/keys/',
      'src/vault/rooms/root/',
      'src/platform/sealing/',
    ],
    'built again, and compared with what is committed': [
      'client/generate.ts',
      'src/api/openapi/build.ts',
      'src/api/build-pages.ts',
    ],
    'pure, with more cases than requests are worth': [
      'src/assets/activity/read-range.ts',
      'src/platform/http/body.ts',
      'src/assets/metadata/data-uri.ts',
      'src/api/openapi/routes.ts',
      'src/platform/process/log.ts',
      'src/platform/process/libc.ts',
      'src/assets/tokens/lists.ts',
    ],
    'for the chains of tests, of which many are started': ['devnet/chopsticks.ts'],
    'one step of what a job or a clock begins': [
      'jobs/queue.ts',
      'jobs/tasks/index.ts',
      'src/assets/activity/backfill.ts',
      'src/assets/activity/check-balances.ts',
      'src/identity/auth/access-token.ts',
    ],
    'forged, counted or put in by a test': [
      'devnet/anvil-state.ts',
      'devnet/chopsticks-archive.ts',
      'src/identity/auth/plugin.ts',
      'src/platform/config.ts',
      'src/signing/transactions/record-observation.ts',
      'src/identity/users/session.ts',
    ],
  } as const
  const isTestedAlone = within(...Object.values(TESTED_ALONE).flat())

  test('every file except the entry points is imported', () => {
    const paths = files.map(({ path }) => path).filter((path) => !byAll.has(path) && !/\.config\.ts$/.test(path))
    expect(paths.sort()).toEqual(ENTRIES)
  })

  const published = new Set(
    Object.values(entries)
      .filter((file) => file.endsWith('.js'))
      .map((file) => file.replace(/^\.\/dist\/(.*)\.js$/, 'client/src/$1.ts')),
  )
  const isPublished = (path: string) => published.has(path) || published.has(path.replace(/x$/, ''))

  /** Exports that nobody imports, as `file: name`. */
  const unused = (imported: typeof byAll, pattern: RegExp): string[] =>
    files
      // What the client package exports is for others.
      .filter(({ path }) => !/\.generated\.ts$/.test(path) && !imported.get(path)?.has('*') && !isPublished(path))
      .flatMap(({ path, text }) =>
        [...text.matchAll(pattern)]
          .flatMap(([, names = '']) => names.split(',').flatMap((each) => /(\w+)\s*$/.exec(each)?.[1] ?? []))
          .filter((name) => !imported.get(path)?.has(name))
          .map((name) => `${path}: ${name}`),
      )

  test('every export is imported', () => {
    expect(unused(byAll, /^export (?:async )?(?:const|function|type|class) (\w+)/gm)).toEqual([])
    expect(unused(byAll, /^export (?:type )?\{([^}]*)\}/gm)).toEqual([])
  })

  test('an export that only tests import is tested directly, or is a type', () => {
    const left = unused(byProduct, /^export (?:async )?(?:const|function|class) (\w+)/gm)
    expect(left.filter((each) => !isTestedAlone(each.replace(/: \w+$/, '')))).toEqual([])
    const places = Object.values(TESTED_ALONE).flat()
    expect(places.filter((place) => !left.some((each) => within(place)(each.replace(/: \w+$/, ''))))).toEqual([])
  })
})

describe('sizes', () => {
  const exempt = matching(/\.generated\.ts$/, /^db\/migrations\//)

  test(`no file is longer than ${MAX_FILE_LINES} lines`, () => {
    const long = files.filter((file) => !exempt(file.path) && file.text.split('\n').length > MAX_FILE_LINES)
    expect(long.map((file) => file.path)).toEqual([])
  })

  test('no line of a comment is longer than a line of code', () => {
    // A line of a table or of code in a comment begins with two spaces or more, and stays whole.
    const prose = /^\s*(?:\/\/|\/\*\*|\*) \S/
    const everywhere = [...files.map(({ path }) => path), ...scriptsIn('test'), ...scriptsIn('bench')]
    const long = everywhere
      .filter((path) => !exempt(path))
      .flatMap((path) =>
        readFileSync(join(ROOT, path), 'utf8')
          .split('\n')
          .map((line, at) => ({ line, at: `${path}:${at + 1}` }))
          .filter(({ line }) => line.length > MAX_COLUMNS && prose.test(line) && !/https?:/.test(line))
          .map(({ at }) => at),
      )
    expect(long).toEqual([])
  })

  test(`no function is longer than ${MAX_FUNCTION_LINES} lines`, () => {
    // Route tables are lists of schemas and one-line handlers, not functions with a course of events.
    const tables = matching(/^src\/[a-z]+\/(?:[a-z-]+\/)?([a-z]+-)?routes\.ts$/)
    const long: string[] = []
    for (const file of files) {
      if (exempt(file.path) || tables(file.path)) continue
      const lines = file.text.split('\n')
      for (const [start, line] of lines.entries()) {
        if (!/^(export )?(default )?(async )?(function\b|const \w+( *:[^=]+)? = (async )?(\(|<|function\b))/.test(line))
          continue
        // A one-line function has no closing line of its own.
        if (!/[{([]$/.test(line)) continue
        const length = lines.slice(start).findIndex((each) => /^[})\]]/.test(each)) + 1
        if (length > MAX_FUNCTION_LINES) long.push(`${file.path}:${start + 1} (${length} lines)`)
      }
    }
    expect(long).toEqual([])
  })
})

test('bun.lock contains no URL', () => {
  expect(readFileSync(join(ROOT, 'bun.lock'), 'utf8').match(/https?:\/\//g)).toBeNull()
})

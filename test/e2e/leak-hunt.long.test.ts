// The search for leaks: every endpoint is called, with success and with errors, with marked PINs, secrets, phrases,
// keys and tokens. Then everything that the service wrote is searched for the marks: its logs, every column of every
// table (including the job queue), the vault's journal, all error answers, and PostgreSQL's own log, which here has
// each statement with its parameters.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { start } from '../../bench/processes.ts'
import { startPostgres } from '../../devnet/postgres.ts'
import { readRecoveryCode } from '../../src/vault/rooms/credentials/user-secret.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { runCliProcess } from '../support/cli.ts'
import { hexOf } from '../vault/support.ts'

type Answer = { readonly status: number; readonly text: string; readonly path: string }

/** Six digits can be part of a long number by chance, so a PIN counts only if no digit is next to it. */
const alone = (text: string) => new RegExp(`(?<![0-9a-zA-Z])${text}(?![0-9a-zA-Z])`)
const anywhere = (text: string) => new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&'), 'i')

const PIN = '739146'
const NEXT_PIN = '264859'
const WRONG_PIN = '518370'
const WRONG_SECRET = 'marked-wrong-secret-a7f3'
const PRIVATE_KEY = randomBytes(32).toString('hex')
const MINI_SECRET = randomBytes(32).toString('hex')
/** The development phrase of the Substrate tools: long enough not to appear in a log by chance. */
const PHRASE = 'bottom drive obey lake curtain smoke basket hold race lonely fit walk'
const BAD_PHRASE = 'bottom drive obey lake curtain smoke basket hold race lonely fit fit'
const PASSKEY_SECRET = randomBytes(32).toString('base64url')
const MESSAGE = 'marked message 9c41'
const ANVIL_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'

const marks = new Map<string, RegExp>([
  ['the PIN', alone(PIN)],
  ['the new PIN', alone(NEXT_PIN)],
  ['a wrong PIN', alone(WRONG_PIN)],
  ['the developer secret', anywhere('testnet-secret')],
  ['a wrong developer secret', anywhere(WRONG_SECRET)],
  ['an imported private key', anywhere(PRIVATE_KEY)],
  ['an imported mini-secret', anywhere(MINI_SECRET)],
  ['an imported phrase', anywhere('curtain smoke basket')],
  ['the secret of a passkey', anywhere(PASSKEY_SECRET)],
  ['the bytes of a passkey', anywhere(Buffer.from(PASSKEY_SECRET, 'base64url').toString('hex'))],
  ['a message to sign', anywhere(MESSAGE)],
  ['the bytes of a message', anywhere(Buffer.from(MESSAGE).toString('hex'))],
])

let folder: string
let restartable: { readonly stop: () => Promise<void> }[] = []
let chain: TestChain
let database: Sql
let project: { project_id: string; api_key: string }
let baseUrl: string
let logs: () => string
const answers: Answer[] = []

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'strongroom-leak-hunt-'))
  const logPath = join(folder, 'postgres.log')
  const server = await startPostgres({ dataDirectory: join(folder, 'postgres'), durable: false, logPath })
  database = postgres(server.url, { max: 1, onnotice: () => {} })
  await database.unsafe(`alter system set log_statement = 'all'`)
  await database.unsafe(`alter system set log_parameter_max_length = -1`)
  await database.unsafe(`alter system set log_parameter_max_length_on_error = -1`)
  await database`select pg_reload_conf()`
  chain = await startChain('Ethereum')
  const variables = {
    ENVIRONMENT: 'testnet',
    DEVNET: 'true',
    DATABASE_URL: server.url,
    VAULT_SOCKET: join(folder, 'vault.socket'),
    SERVICE_KEY: `file:${join(folder, 'service.key')}`,
    IDENTITY_KEY: `file:${join(folder, 'identity.key')}`,
    ETHEREUM_RPC_URL: chain.rpcUrl,
    RATE_LIMIT_PER_SECOND: '100000',
    LOG_LEVEL: 'trace',
    PORT: '0',
  }
  for (const name of ['root.key', 'service.key', 'identity.key'])
    await writeFile(join(folder, name), randomBytes(32), { mode: 0o600 })
  await run(['db', 'migrate'], variables)
  const vault = await start({
    file: 'src/main/vault.ts',
    variables: {
      ...variables,
      SERVICE_KEY: '',
      IDENTITY_KEY: '',
      ROOT_KEY: `file:${join(folder, 'root.key')}`,
      VAULT_JOURNAL: join(folder, 'journal'),
    },
    until: /"listening"/,
  })
  project = JSON.parse(await run(['project', 'create', '--name', 'Hunt', '--json'], variables))
  marks.set('the API key', anywhere(project.api_key))
  const api = await start({ file: 'src/main/api.ts', variables, until: /"url":"http:\/\/127\.0\.0\.1:([0-9]+)"/ })
  const worker = await start({
    file: 'src/main/worker.ts',
    variables: { ...variables, VAULT_SOCKET: '', IDENTITY_KEY: '' },
    until: /"working"/,
  })
  baseUrl = `http://127.0.0.1:${api.match[1]}`
  logs = () => `${vault.output()}\n${api.output()}\n${worker.output()}`
  restartable = [api, worker, vault, { stop: () => chain.stop() }, { stop: () => database.end() }, server]
}, 60_000)

afterAll(async () => {
  for (const each of restartable) await each.stop()
  await rm(folder, { recursive: true, force: true })
})

const run = async (command: readonly string[], variables: Record<string, string>): Promise<string> => {
  const { exitCode, output } = await runCliProcess(command, variables)
  expect(exitCode).toBe(0)
  return output
}

const call = async (path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Answer> => {
  const response = await fetch(baseUrl + path, {
    method: body === undefined ? 'GET' : 'POST',
    headers: {
      authorization: `Bearer ${project.api_key}`,
      'x-walletkit-project-id': project.project_id,
      'content-type': 'application/json',
      ...headers,
    },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
  })
  const answer = { status: response.status, text: await response.text(), path }
  answers.push(answer)
  return answer
}

const json = (answer: Answer) => JSON.parse(answer.text)

const user = { network: 'Ethereum', name: 'U', owner_id: 'user', control_mode: 'user' }
const developer = { network: 'Ethereum', name: 'D', owner_id: 'developer', control_mode: 'developer' }

/** Right credentials, and every kind of wrong ones. */
const credentials = [
  { user_pin: WRONG_PIN },
  { user_pin: `${WRONG_PIN}7` },
  { user_pin: Number(WRONG_PIN) },
  { developer_secret: WRONG_SECRET },
  { developer_secret: [WRONG_SECRET] },
  { user_pin: PIN, developer_secret: 'testnet-secret' },
  { user_pin: PIN, nonsense: PRIVATE_KEY },
  {},
]

const wallets = async (): Promise<{ theirs: string; ours: string }> => {
  const theirs = json(await call('/wallets', { ...user, user_pin: PIN })).address
  const ours = json(await call('/wallets', { ...developer, developer_secret: 'testnet-secret' })).address
  await chain.fund(theirs)
  await chain.fund(ours)
  for (const wrong of credentials) {
    await call('/wallets', { ...user, network: 'Base', ...wrong })
    await call('/wallets', { ...developer, network: 'Base', ...wrong })
  }
  return { theirs, ours }
}

const imports = async (): Promise<void> => {
  const base = { network: 'Ethereum', name: 'I', control_mode: 'developer', developer_secret: 'testnet-secret' }
  for (const secret of [
    { private_key: PRIVATE_KEY },
    { private_key: `0x${PRIVATE_KEY}` },
    { private_key: `${PRIVATE_KEY}00` },
    { private_key: PRIVATE_KEY, mnemonic_phrase: PHRASE },
    { mnemonic_phrase: PHRASE },
    { mnemonic_phrase: BAD_PHRASE },
    { mnemonic_phrase: { words: PHRASE } },
    { network: 'Polkadot', private_key: MINI_SECRET },
    { network: 'Vara', private_key: `${MINI_SECRET}ff` },
  ]) {
    await call('/wallets/import', { ...base, ...secret })
    await call('/wallets/import', { ...base, ...secret, developer_secret: WRONG_SECRET })
  }
}

const signing = async (address: string): Promise<void> => {
  const unsigned_transaction = { to: ANVIL_ADDRESS, value: '1' }
  const body = { network: 'Ethereum', signer_wallet_address: address, unsigned_transaction }
  for (const path of ['/transactions/sign', '/transactions/sign-and-send']) {
    await call(path, { ...body, user_pin: PIN })
    for (const wrong of credentials) await call(path, { ...body, ...wrong })
  }
  const bytes = { message: `0x${Buffer.from(MESSAGE).toString('hex')}`, message_type: 'bytes' }
  for (const message of [{ message: MESSAGE }, bytes, { ...bytes, message: MESSAGE }]) {
    for (const credential of [{ user_pin: PIN }, { user_pin: WRONG_PIN }, {}]) {
      await call('/transactions/sign-message', {
        network: 'Ethereum',
        signer_wallet_address: address,
        ...message,
        ...credential,
      })
    }
  }
  for (const type of ['string', 'uint8', 'bytes', 'address']) {
    const types = { Note: [{ name: 'text', type }] }
    const typed_data = { domain: {}, types, primaryType: 'Note', message: { text: MESSAGE } }
    const of = { network: 'Ethereum', signer_wallet_address: address, typed_data }
    for (const credential of [{ user_pin: PIN }, { user_pin: WRONG_PIN }, {}]) {
      await call('/transactions/sign-typed-data', { ...of, ...credential })
    }
  }
  const token = { network: 'Ethereum', from: address, contract_address: ANVIL_ADDRESS, recipient: ANVIL_ADDRESS }
  await call('/nfts/mint', { ...token, uri: 'ipfs://x', user_pin: PIN })
  await call('/nfts/transfer', { ...token, token_id: '1', user_pin: PIN })
  await call('/nfts/collections', { network: 'Ethereum', name: 'C', symbol: 'C', image_url: 'ipfs://x', user_pin: PIN })
}

const policies = async (address: string): Promise<void> => {
  const of = { network: 'Ethereum', wallet_address: address }
  const rules = [{ argument: 'value', operator: 'le', value: '1' }]
  const body = { ...of, argument_rules: rules, max_total_fee: '1000000000000000000' }
  for (const wrong of credentials.slice(0, -3)) {
    await call('/policies', { ...body, developer_secret: 'testnet-secret', user_pin: PIN, ...wrong })
  }
  const { uuid } = json(await call('/policies', { ...body, developer_secret: 'testnet-secret', user_pin: PIN }))
  const signing = { network: 'Ethereum', signer_wallet_address: address, unsigned_transaction: { to: ANVIL_ADDRESS } }
  await call('/transactions/sign', { ...signing, developer_secret: 'testnet-secret' })
  await call('/transactions/sign', { ...signing, developer_secret: WRONG_SECRET })
  for (const wrong of credentials) await call('/policies/revoke', { uuid, ...wrong })
}

const changes = async (address: string): Promise<void> => {
  const wallet = { network: 'Ethereum', address }
  for (const path of ['/wallets/change-user-pin']) {
    await call(path, { ...wallet, old_user_pin: WRONG_PIN, new_user_pin: NEXT_PIN })
    await call(path, { ...wallet, old_user_pin: PIN, new_user_pin: `${NEXT_PIN}1` })
    await call(path, { ...wallet, old_user_pin: PIN, new_user_pin: NEXT_PIN })
  }
  const made = await call('/wallets/recovery-code', { ...wallet, user_pin: NEXT_PIN })
  const code: string = json(made).recovery_code
  marks.set('a recovery code', anywhere(code.slice(0, 24)))
  marks.set('a recovery code without hyphens', anywhere(code.replaceAll('-', '').slice(0, 20)))
  marks.set('the bits of a recovery code', anywhere(hexOf(readRecoveryCode(code) ?? new Uint8Array())))
  const passkey = { ...wallet, passkey_id: 'key-1', passkey_secret: PASSKEY_SECRET }
  for (const user_secret of [code, `${code}7`, code.replaceAll('-', ''), PASSKEY_SECRET]) {
    await call('/wallets/passkey-secret', { ...passkey, user_secret })
    await call('/wallets/export', { ...wallet, user_secret })
    await call('/wallets/recovery-code/remove', { ...wallet, user_pin: NEXT_PIN, user_secret })
  }
  await call('/wallets/passkey-secret', { ...passkey, passkey_secret: `${PASSKEY_SECRET}x`, user_secret: code })
  await call('/wallets/change-user-pin', { ...wallet, user_secret: code, new_user_pin: NEXT_PIN })
  await call('/wallets/recovery-code/remove', { ...wallet, user_secret: PASSKEY_SECRET })
  const exported = await call('/wallets/export', { ...wallet, user_pin: NEXT_PIN })
  const phrase: unknown = exported.status === 200 ? json(exported).mnemonic_phrase : null
  if (typeof phrase === 'string') marks.set('an exported phrase', anywhere(phrase.split(' ').slice(2, 7).join(' ')))
  await call('/wallets/export', { ...wallet, user_pin: WRONG_PIN })
}

const strangers = async (): Promise<void> => {
  await call('/wallets', `{"user_pin":"${PIN}","user_pin":"${PIN}"}`)
  await call('/wallets', `{"user_pin":"${PIN}"`)
  await call(`/wallets?network=Ethereum&user_pin=${PIN}`)
  await call('/wallets', { ...user, user_pin: PIN }, { authorization: `Bearer ${project.api_key}x` })
  await call('/wallets', { ...user, user_pin: PIN }, { authorization: `Basic ${project.api_key}` })
  await call('/wallets', { ...user, user_pin: PIN }, { 'x-walletkit-project-id': project.api_key })
  await call('/wallets', { ...user, user_pin: PIN }, { 'content-type': 'text/plain' })
  await call('/policies/revoke', { uuid: project.project_id, user_pin: PIN })
  await call('/users/verify-login', { user_id: 'u', verification_code: PIN })
}

/** Every text of every row of every table, as PostgreSQL prints it. */
const everyRow = async (): Promise<string> => {
  const tables = await database<{ name: string }[]>`
    select format('%I.%I', schemaname, tablename) as name from pg_tables
    where schemaname not in ('pg_catalog', 'information_schema')`
  const texts: string[] = []
  for (const { name } of tables) {
    const rows = await database.unsafe<{ line: string }[]>(`select t::text as line from ${name} t`)
    texts.push(...rows.map(({ line }) => `${name}: ${line}`))
  }
  return texts.join('\n')
}

const hits = (text: string): string[] => [...marks].filter(([, mark]) => mark.test(text)).map(([name]) => name)

test('nothing that the service writes contains a PIN, a secret, a phrase, a key or a token', async () => {
  const { theirs } = await wallets()
  await imports()
  await signing(theirs)
  await policies(theirs)
  await changes(theirs)
  await strangers()
  // The jobs of sent transactions run too, and are logged.
  for (let tries = 0; tries < 100; tries += 1) {
    const [live] = await database`select from transactions where status in ('submitted', 'pending')`
    if (live === undefined) break
    await Bun.sleep(50)
  }

  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4)
  expect(answers.filter(({ status }) => status >= 400).length).toBeGreaterThan(40)
  expect(answers.filter(({ status }) => status === 500)).toEqual([])
  for (const answer of answers.filter(({ status }) => status >= 400)) {
    expect({ ...answer, leaks: hits(answer.text) }).toEqual({ ...answer, leaks: [] })
  }

  const rows = await everyRow()
  const statements = await readFile(join(folder, 'postgres.log'), 'utf8')
  const written = logs()
  const journal = await readFile(join(folder, 'journal'), 'utf8')
  // The places to search are not empty.
  expect(rows).toContain('transaction_submitted')
  expect(rows).toContain('message_signed')
  expect(statements).toContain(theirs)
  expect(written).toContain('listening')
  expect(journal).toContain('message_signed')
  const places = { rows, statements, logs: written, journal }
  const leaks = Object.entries(places).flatMap(([place, text]) => hits(text).map((hit) => `${place}: ${hit}`))
  expect(leaks).toEqual([])
}, 60_000)

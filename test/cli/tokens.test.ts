import { expect, test } from 'bun:test'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { importTokenList } from '../../src/assets/tokens/lists.ts'
import { tokenDisplays } from '../../src/signing/token.ts'
import { runCli } from '../support/cli.ts'
import { isLong, longTest } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { shared, sharedFolder } from '../support/shared.ts'

const SEPOLIA = 11_155_111
const USDC = '0x1c7D4B196Cb0C7B01d743Fbc6116a902379C7238'
const DOOR = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const TOKEN = { chainId: SEPOLIA, address: DOOR, name: 'Door', symbol: 'DOOR', decimals: 18 }

const service = await shared(startService())
const { sql } = service.database
const folder = await sharedFolder('tokens')

/** With the API's database login and without the root key, like all commands that open no wallet. */
const cli = (...args: readonly string[]) => runCli(['tokens', ...args], { ...service.variables, VAULT_SOCKET: '' })

const listOf = (name: string, tokens: readonly object[], patch = 0) =>
  JSON.stringify({ name, version: { major: 1, minor: 0, patch }, tokens })
/** The longest that is taken, in the long run. */
const LARGEST = isLong ? 50_000 : 5_000

const importList = (text: string) => importTokenList(service.ctx, { text, actor: 'operator' })
const looksOf = async (...addresses: readonly string[]) =>
  Object.fromEntries(await tokenDisplays(service.ctx, { chain: service.ctx.chains.of('Ethereum'), addresses }))
const good = (output: string) => ({ exitCode: 0, errors: '', output })

test('imports, lists and removes token lists, and audits each change', async () => {
  expect(await cli('list')).toEqual(good('No token list was imported.\n'))
  const path = join(folder, 'list.json')
  await writeFile(path, listOf('Doors', [TOKEN, { ...TOKEN, chainId: 1 }, { ...TOKEN, chainId: 10 }]))
  // A mainnet chain is not in a testnet deployment.
  expect(await cli('import', path)).toEqual(
    good('Imported Doors 1.0.0: 1 token, and skipped 2 tokens of other chains.\n'),
  )
  expect(JSON.parse((await cli('list', '--json')).output)).toEqual([
    { name: 'Doors', tokens: 1, imported_at: expect.stringMatching(/^20.*Z$/) },
  ])
  expect((await cli('list')).output).toMatch(/^20\S+Z {2}Doors: 1 token\n$/)
  expect(await cli('remove', 'Doors')).toEqual(good('Removed Doors.\n'))
  expect(await cli('remove', 'Doors')).toEqual({
    exitCode: 1,
    output: '',
    errors: 'There is no token list named "Doors"; "tokens list" shows all names.\n',
  })
  await truncate(path, 10_000_001)
  expect(await cli('import', path)).toEqual({
    exitCode: 1,
    output: '',
    errors: 'The file must have at most 10000000 bytes; it has 10000001.\n',
  })
  const acts = await sql`select actor, action, subject, details from audit where action like 'token%' order by at`
  expect([...acts]).toEqual([
    {
      actor: 'operator',
      action: 'token_list_imported',
      subject: 'Doors',
      details: { version: '1.0.0', tokens: '1', skipped: '2', refused: '0' },
    },
    { actor: 'operator', action: 'token_list_removed', subject: 'Doors', details: { tokens: '1' } },
  ])
}, 60_000)

test('an imported list overrides the known tokens of the network, which fill in missing fields', async () => {
  const [byDefault] = Object.values(await looksOf(USDC))
  expect(byDefault).toEqual({ logoUrl: expect.stringContaining('trustwallet'), displayDecimals: 2 })
  await importList(listOf('Looks', [{ ...TOKEN, address: USDC, logoURI: 'https://example.com/usdc.png' }]))
  expect(await looksOf(USDC, DOOR)).toEqual({ [USDC]: { logoUrl: 'https://example.com/usdc.png', displayDecimals: 2 } })
  await importList(listOf('Looks', [{ ...TOKEN, address: USDC, extensions: { displayDecimals: 5 } }]))
  expect(await looksOf(USDC)).toEqual({ [USDC]: { logoUrl: byDefault?.logoUrl ?? '', displayDecimals: 5 } })
  const elsewhere = { chain: service.ctx.chains.of('Base'), addresses: [USDC] }
  expect(await tokenDisplays(service.ctx, elsewhere)).toEqual(new Map())
})

test('a row that the service did not write is not listed, and is named', async () => {
  const named = async () => {
    const { output } = await runCli(['audit', 'verify', '--json'], service.variables)
    const rows: readonly { table: string; id: string; trouble: string }[] = JSON.parse(output).callers.forged
    return rows.map(({ table, id, trouble }) => [table, id, trouble])
  }
  await importList(listOf('True', [{ ...TOKEN, logoURI: 'https://example.com/true.png' }]))
  const stranger = `0x${'27'.repeat(20)}`
  const NOT_OURS = 'it is not as the service wrote it'
  await sql`insert into listed_tokens (network, address, list_name, name, symbol, logo_url, display_decimals, mac)
    select network, ${stranger}, list_name, name, symbol, logo_url, display_decimals, mac from listed_tokens where list_name = 'True'`
  expect(Object.keys(await looksOf(DOOR, stranger))).toEqual([DOOR])
  if (isLong) expect(await named()).toEqual([['listed_tokens', `Ethereum ${stranger}`, NOT_OURS]])
  const rows = await sql`select * from listed_tokens where list_name = 'True'`
  await cli('remove', 'True')
  if (isLong) expect(await named()).toEqual([])
  for (const row of rows) await sql`insert into listed_tokens ${sql(row)}`
  expect((await named()).toSorted()).toEqual([
    ['listed_tokens', `Ethereum ${stranger}`, NOT_OURS],
    ['listed_tokens', `Ethereum ${DOOR}`, 'the audit says that it was revoked, removed or ended'],
  ])
  await sql`delete from listed_tokens where list_name = 'True'`
})

test('a new import replaces the list, and the newer list wins for a token in two lists', async () => {
  const logo = (logoURI: string) => ({ ...TOKEN, logoURI })
  await importList(listOf('One', [logo('https://one.example'), { ...TOKEN, address: USDC }]))
  await importList(listOf('Two', [logo('https://two.example')]))
  expect((await looksOf(DOOR))[DOOR]?.logoUrl).toBe('https://two.example')
  await importList(listOf('One', [logo('https://one.example/again')], 1))
  const rows = await sql`select list_name, address, logo_url from listed_tokens where list_name in ('One', 'Two')`
  expect([...rows]).toEqual([{ list_name: 'One', address: DOOR, logo_url: 'https://one.example/again' }])
})

test('imports the valid tokens of a list and names the others', async () => {
  const path = join(folder, 'mistakes.json')
  await writeFile(
    path,
    listOf('Mistakes', [
      TOKEN,
      { ...TOKEN, address: '0x12' },
      { ...TOKEN, address: USDC, logoURI: 'http://insecure.example' },
    ]),
  )
  expect(await cli('import', path)).toEqual(
    good(
      [
        'Imported Mistakes 1.0.0: 2 tokens.',
        'Refused:',
        '  Field "tokens.1.address" must be an address: 0x and 40 hex digits.',
        '  tokens.2.logoURI must be a URI of at most 2048 characters: https://… or ipfs://….',
        '',
      ].join('\n'),
    ),
  )
  const [act] = await sql`select details from audit where subject = 'Mistakes'`
  expect(act?.details).toEqual({ version: '1.0.0', tokens: '2', skipped: '0', refused: '2' })
})

longTest('stores nothing of a list without a valid token, and imports the largest list', async () => {
  const before = await sql`select count(*)::int from listed_tokens`
  await expect(importList(listOf('Mistakes', [{ ...TOKEN, address: '0x12' }]))).rejects.toThrow('tokens.0.address')
  expect([...(await sql`select count(*)::int from listed_tokens`)]).toEqual([...before])
  const tokens = Array.from({ length: LARGEST }, (_, at) => ({
    ...TOKEN,
    address: `0x${String(at).padStart(40, '0')}`,
  }))
  const stored = async () => (await sql`select count(*)::int from listed_tokens where list_name = 'Large'`)[0]?.count
  await importList(listOf('Large', tokens))
  expect(await stored()).toBe(LARGEST)
  await importList(listOf('Large', tokens.slice(-10), 1))
  expect(await stored()).toBe(10)
})

test('the worker reads token lists, for events, and cannot write them', async () => {
  const worker = postgres(byTcp(service.database.workerUrl).href, { max: 1 })
  try {
    expect(await worker`select from listed_tokens limit 1`).toHaveLength(1)
    const write = worker`update listed_tokens set symbol = 'X'`.then(() => 'allowed')
    await expect(write).rejects.toMatchObject({ code: '42501' })
  } finally {
    await worker.end()
  }
})

import { expect, test } from 'bun:test'
import { truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import postgres from 'postgres'
import { addAbi, createAbiMemory, removeAbi } from '../../src/assets/abis/added.ts'
import { exitCodeOf, runCli } from '../support/cli.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { shared, sharedFolder } from '../support/shared.ts'

const ADDRESS = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed'
const ABI = [
  { type: 'function', name: 'open', inputs: [{ name: 'door', type: 'uint256' }] },
  { type: 'error', name: 'Locked', inputs: [] },
]

const service = await shared(startService())
const { sql } = service.database
const folder = await sharedFolder('abi')

/** With the API's database login and without the root key, like all commands that open no wallet. */
const cli = (...args: readonly string[]) => runCli(['abi', ...args], { ...service.variables, VAULT_SOCKET: '' })

const file = async (name: string, content: unknown): Promise<string> => {
  const path = join(folder, name)
  await writeFile(path, typeof content === 'string' ? content : JSON.stringify(content))
  return path
}

const good = (output: string) => ({ exitCode: 0, errors: '', output })

test('adds an ABI for all contracts or for one, lists and removes them, and audits each change', async () => {
  expect(await cli('list')).toEqual(good('No ABI was added.\n'))
  const plain = await file('doors.json', ABI)
  expect(await cli('add', plain)).toEqual(
    good('Added doors: 1 function and 1 error, for every contract. Previews use them from now on.\n'),
  )
  const artifact = await file('Door.json', { contractName: 'Door', abi: ABI.slice(0, 1), bytecode: '0x' })
  const bound = ['--network', 'Ethereum', '--address', ADDRESS.toLowerCase()]
  expect(await cli('add', artifact, ...bound)).toEqual(
    good(`Added Door: 1 function and 0 errors, for ${ADDRESS} on Ethereum. Previews use them from now on.\n`),
  )
  expect(JSON.parse((await cli('list', '--json')).output)).toEqual([
    {
      name: 'doors',
      network: null,
      address: null,
      functions: 1,
      errors: 1,
      created_at: expect.stringMatching(/^20.*Z$/),
    },
    { name: 'Door', network: 'Ethereum', address: ADDRESS, functions: 1, errors: 0, created_at: expect.any(String) },
  ])
  const { output } = await cli('list')
  expect(output.split('\n').map((line) => line.replace(/^\S+ {2}/, ''))).toEqual([
    'doors: 1 function, 1 error, for every contract',
    `Door: 1 function, 0 errors, for ${ADDRESS} on Ethereum`,
    '',
  ])
  expect(await cli('remove', 'doors')).toEqual(good('Removed doors.\n'))
  expect(await cli('remove', 'doors')).toEqual({
    exitCode: 1,
    output: '',
    errors: 'There is no ABI named "doors"; "abi list" shows all names.\n',
  })
  const acts = await sql`select actor, action, subject, details from audit where action like 'abi%' order by at`
  expect([...acts]).toEqual([
    { actor: 'operator', action: 'abi_added', subject: 'doors', details: { items: '2', network: '', address: '' } },
    {
      actor: 'operator',
      action: 'abi_added',
      subject: 'Door',
      details: { items: '1', network: 'Ethereum', address: ADDRESS },
    },
    { actor: 'operator', action: 'abi_removed', subject: 'doors', details: { items: '2' } },
  ])
}, 60_000)

test('refuses bad input with one sentence and stores nothing', async () => {
  const before = await sql`select * from abi_items`
  const plain = await file('plain.json', ABI)
  const huge = await file('huge.json', '')
  await truncate(huge, 16_777_217)
  const refused: readonly (readonly [readonly string[], string])[] = [
    [['add', join(folder, 'missing.json')], 'ENOENT'],
    [['add', huge], 'at most 16777216 bytes; it has 16777217'],
    [['add', plain, '--network', 'Ethereum'], '--network and --address must be given together'],
    [
      ['add', plain, '--network', 'Polkadot', '--address', ADDRESS],
      'must be one of Ethereum, Polygon, Base, Avalanche',
    ],
  ]
  for (const [args, sentence] of refused) {
    const { exitCode, output, errors } = await cli(...args)
    expect([args, exitCode, output, errors.trim().split('\n').length]).toEqual([args, exitCodeOf(errors), '', 1])
    expect(errors).toContain(sentence)
  }
  const add = (text: string, name: string, address?: string) => {
    const binding = address === undefined ? null : ({ network: 'Ethereum', address } as const)
    return addAbi(service.ctx, { text, name, fallbackName: 'x', binding, actor: 'operator' })
  }
  const text = JSON.stringify(ABI)
  const bad = JSON.stringify([...ABI, { type: 'function', name: 'f', inputs: [{ type: 'uint7' }] }])
  const refusedByVerb: readonly (readonly [Parameters<typeof add>, string])[] = [
    [[bad, 'bad'], 'has the type "uint7"'],
    [[text, ''], 'one line of 1 to 128 characters'],
    [[text, 'a\nb'], 'one line of 1 to 128 characters'],
    [[text, 'Door'], 'There is already an ABI named "Door": remove it first, or choose another name.'],
    [[text, 'short', '0x12'], 'must be an address'],
    [[text, 'mistyped', ADDRESS.replace('aA', 'AA')], 'wrong checksum'],
  ]
  for (const [input, sentence] of refusedByVerb) await expect(add(...input)).rejects.toThrow(sentence)
  expect([...(await sql`select * from abi_items`)]).toEqual([...before])
}, 60_000)

longTest('keeps exactly one of several ABIs that are added at once under one name', async () => {
  const add = (door: number) => {
    const text = JSON.stringify([{ type: 'function', name: `open${door}`, inputs: [] }])
    return addAbi(service.ctx, { text, name: 'same', fallbackName: 'x', binding: null, actor: 'operator' })
  }
  // Open the connections first, so that all start at the same time.
  await Promise.all(Array.from({ length: 10 }, () => service.ctx.db.execute('select pg_sleep(0.2)')))
  const ends = await Promise.allSettled(Array.from({ length: 10 }, (_, door) => add(door)))
  expect(ends.filter(({ status }) => status === 'fulfilled').length).toBe(1)
  expect((await sql`select count(*)::int from abi_items where abi_name = 'same'`)[0]?.count).toBe(1)
})

const known = async (name: string) => {
  const memory = createAbiMemory(service.ctx)
  const items = await memory.readAbiItems({ network: 'Ethereum', kind: 'function', selectors: [], name })
  return items.map(({ inputs, isGeneral, addresses }) => [inputs.map((input) => input.name), isGeneral, addresses])
}

test('an item that somebody with the database changed, inserted or put back counts as absent, or the check names it', async () => {
  const add = (name: string, address?: string) =>
    addAbi(service.ctx, {
      text: JSON.stringify([{ type: 'function', name: 'withdraw', inputs: [{ name: 'amount', type: 'uint256' }] }]),
      name,
      fallbackName: 'x',
      binding: address === undefined ? null : { network: 'Ethereum', address },
      actor: 'operator',
    })
  const putBack = ({ id: _, ...row }: Record<string, unknown>) =>
    sql`insert into abi_items ${sql({ ...row, item: sql.json(row.item as never) } as never)}`
  await add('bank')
  await add('till', ADDRESS)
  const real = [[['amount'], true, [ADDRESS]]]
  expect(await known('withdraw')).toEqual(real)
  const named = async () => {
    const { output } = await runCli(['audit', 'verify', '--json'], service.variables)
    return JSON.parse(output).callers.forged.map(({ table, id, trouble }: Record<string, string>) => [
      table,
      id,
      trouble,
    ])
  }
  if (isLong) expect(await named()).toEqual([])
  const notOurs = (id: string) => [['abi_items', id, 'it is not as the service wrote it']]

  const changes = [
    `item = jsonb_set(item, '{name}', '"deposit"')`,
    `item = jsonb_set(item, '{inputs,0,name}', '"reward"')`,
    `selector = '0xb6b55f25'`,
    `network = null, address = null`,
    `network = 'Base'`,
    `address = '0x000000000000000000000000000000000000dEaD'`,
    `kind = 'error'`,
    `abi_name = 'other'`,
  ]
  for (const change of someOf(changes, 3)) {
    const [was = {}] = await sql`select * from abi_items where abi_name = 'till'`
    await sql.unsafe(`update abi_items set ${change} where abi_name = 'till'`)
    expect([change, await known('withdraw')]).toEqual([change, [[['amount'], true, []]]])
    await sql`delete from abi_items where abi_name in ('till', 'other')`
    await putBack(was)
  }
  expect(await known('withdraw')).toEqual(real)

  await sql`update abi_items set signature = 'withdraw(uint8)' where abi_name = 'till'`
  if (isLong) expect(await named()).toEqual(notOurs('till: withdraw(uint8)'))
  await sql`delete from abi_items where abi_name = 'till'`
  await sql`insert into abi_items (abi_name, kind, selector, signature, item, mac)
    select 'forged', kind, selector, signature, jsonb_set(item, '{inputs,0,name}', '"reward"'), mac from abi_items where abi_name = 'bank'`
  expect(await known('withdraw')).toEqual([[['amount'], true, []]])

  const [removed = {}] = await sql`select * from abi_items where abi_name = 'bank'`
  await removeAbi(service.ctx, { name: 'bank', actor: 'operator' })
  expect(await known('withdraw')).toEqual([])
  if (isLong) expect(await named()).toEqual(notOurs('forged: withdraw(uint256)'))
  await putBack(removed)
  const revived = 'the audit says that it was revoked, removed or ended'
  expect((await named()).toSorted()).toEqual([
    ['abi_items', 'bank: withdraw(uint256)', revived],
    ...notOurs('forged: withdraw(uint256)'),
  ])
}, 60_000)

test('the worker can read ABIs to decode reverts, but not change them', async () => {
  const worker = postgres(byTcp(service.database.workerUrl).href, { max: 1 })
  try {
    await worker`select * from abi_items`
    for (const write of [() => worker`delete from abi_items`, () => worker`update abi_items set abi_name = 'x'`]) {
      await expect(write().then(() => 'allowed')).rejects.toMatchObject({ code: '42501' })
    }
  } finally {
    await worker.end()
  }
})

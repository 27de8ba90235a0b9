import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { createProject } from '../../src/operators/projects.ts'
import { EVM_NETWORKS } from '../../src/platform/networks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { countRows } from '../support/rows.ts'
import { type Answer, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const SECRET = 'testnet-secret'
const PIN = '493817'
const UNKNOWN_ADDRESS = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
/** Wallets are created without a node. */
const NOWHERE = 'http://127.0.0.1:1'

const service = await shared(
  startService({
    rpcUrls: Object.fromEntries(EVM_NETWORKS.map((network) => [network, NOWHERE])),
  }),
)
const { sql } = service.database

const developer = { name: 'W', control_mode: 'developer', developer_secret: SECRET }
const user = { name: 'W', control_mode: 'user', user_pin: PIN }

const create = (network: string, body: Record<string, unknown>) => service.post('/wallets', { network, ...body })

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

const ownerRows = async (ownerId: string) => {
  const [rows] = await sql`
    select
      (select count(*)::int from keyrings where owner_id = ${ownerId}) as keyrings,
      (select count(*)::int from owner_locks l join keyrings k on k.id = l.keyring_id where k.owner_id = ${ownerId}) as locks,
      (select count(*)::int from user_keys where owner_id = ${ownerId}) as "userKeys",
      (select count(*)::int from wallets where owner_id = ${ownerId}) as wallets,
      (select count(*)::int from wallet_keys k join wallets w on w.id = k.wallet_id where w.owner_id = ${ownerId}) as keys`
  return rows
}

describe('a wallet', () => {
  test('has six fields, the same in each look-up and in the list', async () => {
    const ownerId = randomUUID()
    const made = await create('Base', { ...developer, name: 'Savings', owner_id: ownerId, type: 'eoa' })
    expect(made.status).toBe(200)
    expect(made.json).toEqual({
      id: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      network: 'Base',
      name: 'Savings',
      owner_id: ownerId,
      address: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    })
    const { id, address } = made.json
    const lookUps = await Promise.all([
      service.get('/wallets/get-by-id', { network: 'Base', id }),
      service.get('/wallets/get-by-id', { network: 'Base', id: id.toUpperCase() }),
      service.get('/wallets/get-by-address', { network: 'Base', address }),
      service.get('/wallets/get-by-address', { network: 'Base', address: address.toLowerCase() }),
      service.get('/wallets/get-by-address', { network: 'Base', address: `0x${address.slice(2).toUpperCase()}` }),
      service.get('/wallets/get-by-owner-id', { network: 'Base', ownerID: ownerId }),
      service.get('/wallets/get-by-owner-id', { network: 'Base', owner_id: ownerId }),
      service.get('/wallets/get-by-owner-id', { network: 'Base', ownerID: ownerId, owner_id: ownerId }),
    ])
    expect(lookUps.map((answer) => answer.json)).toEqual(lookUps.map(() => made.json))
    expect((await service.get('/wallets', { network: 'Base', page_size: '100' })).json).toContainEqual(made.json)
  })

  test('gets a new owner if none is given', async () => {
    const owners = await Promise.all([create('Base', developer), create('Base', { ...developer, owner_id: null })])
    const ids = owners.map((answer) => answer.json.owner_id)
    expect(new Set(ids).size).toBe(2)
    for (const id of ids) expect(id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  })

  test('belongs to exactly the given owner, with any visible characters in the id', async () => {
    const owners = [
      `a'b"c`,
      'a/b?c=d&e#f+g',
      ' ',
      '../..',
      '%00',
      'null',
      '日本語',
      'e\u0301',
      'é',
      '__proto__',
      '😀'.repeat(256),
      'a'.repeat(256),
    ]
    for (const owner of someOf(owners, 3)) {
      const made = await create('Base', { ...developer, name: owner, owner_id: owner })
      expect({ owner, status: made.status, kept: made.json.owner_id }).toEqual({ owner, status: 200, kept: owner })
      expect(made.json.name).toBe(owner)
      const found = await service.get('/wallets/get-by-owner-id', { network: 'Base', ownerID: owner })
      expect(found.json).toEqual(made.json)
    }
    for (const owner_id of ['\t\n', '\u202e', `user-1\u200b`]) {
      expect(told(await create('Base', { ...developer, owner_id }))).toEqual({ status: 400, code: 'invalid_input' })
    }
    const long = await create('Base', { ...developer, owner_id: '😀'.repeat(257) })
    expect(told(long)).toEqual({ status: 400, code: 'invalid_input' })
  })

  test('must be the owner’s only one on the network: a second is refused before its credential is checked', async () => {
    const ownerId = randomUUID()
    await create('Base', { ...user, owner_id: ownerId })
    const before = await countRows(service.database.url)
    const wrong = await create('Base', { ...user, user_pin: '000000', owner_id: ownerId })
    expect(told(wrong)).toEqual({ status: 409, code: 'wallet_exists' })
    expect(await countRows(service.database.url)).toEqual(before)
    const [guesses] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
    expect(guesses).toEqual({ fails: 0, total: 0 })
  })
})

describe('a wallet that the vault made and the API could not write', () => {
  test('is one, and is asked for again with the same Idempotency-Key', async () => {
    const ownerId = randomUUID()
    const headers = { 'idempotency-key': randomUUID() }
    const ask = () => service.post('/wallets', { network: 'Base', ...user, owner_id: ownerId }, headers)
    const sealed = () =>
      sql`select w.wallet_id as id from wallet_keys w join keyrings k on k.id = w.keyring_id where k.owner_id = ${ownerId}`
    await sql`revoke insert on wallets from strongroom_api`
    const refused = await ask()
    await sql`grant insert on wallets to strongroom_api`
    expect([refused.status, (await sealed()).length, (await ownerRows(ownerId))?.wallets]).toEqual([500, 1, 0])
    const { status, json } = await ask()
    expect([status, [...(await sealed())]]).toEqual([200, [{ id: json.id }]])
    expect(await ownerRows(ownerId)).toEqual({ keyrings: 1, locks: 1, userKeys: 1, wallets: 1, keys: 1 })
    expect((await ask()).json).toEqual(json)
  })
})

describe('wallets created at the same time', () => {
  for (const [mode, body] of [
    ['developer', developer],
    ['user', user],
  ] as const) {
    longTest(`of one owner on all EVM networks share one seed and one address (${mode})`, async () => {
      for (let round = 0; round < 3; round += 1) {
        const ownerId = randomUUID()
        const made = await Promise.all(EVM_NETWORKS.map((network) => create(network, { ...body, owner_id: ownerId })))
        expect(made.map((answer) => answer.status)).toEqual(EVM_NETWORKS.map(() => 200))
        expect(new Set(made.map((answer) => answer.json.address)).size).toBe(1)
        expect(await ownerRows(ownerId)).toEqual({
          keyrings: 1,
          locks: 1,
          userKeys: mode === 'user' ? 1 : 0,
          wallets: EVM_NETWORKS.length,
          keys: EVM_NETWORKS.length,
        })
      }
    })
  }

  longTest('for one owner on one network: one is created, the others are refused and leave nothing', async () => {
    for (let round = 0; round < 3; round += 1) {
      const ownerId = randomUUID()
      const made = await Promise.all([1, 2, 3].map(() => create('Base', { ...user, owner_id: ownerId })))
      expect(made.map((answer) => answer.status).sort()).toEqual([200, 409, 409])
      expect(await ownerRows(ownerId)).toEqual({ keyrings: 1, locks: 1, userKeys: 1, wallets: 1, keys: 1 })
    }
  })

  longTest('for one owner with different PINs: the first PIN counts, the others are wrong', async () => {
    const ownerId = randomUUID()
    const made = await Promise.all(
      EVM_NETWORKS.map((network, index) => create(network, { ...user, owner_id: ownerId, user_pin: `60491${index}` })),
    )
    expect(made.map((answer) => answer.json.code ?? 'made').sort()).toEqual([
      'INVALID_SECRET',
      'INVALID_SECRET',
      'INVALID_SECRET',
      'made',
    ])
    const [guesses] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
    expect(guesses).toEqual({ fails: 3, total: 3 })
  })
})

describe('an owner with wallets of both modes', () => {
  const signed = (network: string, address: string, credential: Record<string, string>) =>
    service.post('/transactions/sign', {
      network,
      signer_wallet_address: address,
      unsigned_transaction: {
        to: UNKNOWN_ADDRESS,
        value: '1',
        gasLimit: '21000',
        maxFeePerGas: '2',
        maxPriorityFeePerGas: '1',
        nonce: '0',
      },
      ...credential,
    })

  test('proved both credentials once, and has one address; each wallet signs with its own mode’s credential', async () => {
    const ownerId = randomUUID()
    const first = (await create('Ethereum', { ...developer, owner_id: ownerId })).json
    const second = { ...user, owner_id: ownerId }
    expect(told(await create('Polygon', second))).toEqual({ status: 400, code: 'credential_required' })
    const wrong = await create('Polygon', { ...second, developer_secret: 'nonsense' })
    expect(told(wrong)).toEqual({ status: 403, code: 'INVALID_SECRET' })
    expect(await ownerRows(ownerId)).toEqual({ keyrings: 1, locks: 1, userKeys: 0, wallets: 1, keys: 1 })

    const shared = await create('Polygon', { ...second, developer_secret: SECRET })
    expect(shared.json.address).toBe(first.address)
    const again = await create('Base', { ...second, developer_secret: SECRET })
    expect(told(again)).toEqual({ status: 400, code: 'credential_ambiguous' })
    expect((await create('Base', second)).status).toBe(200)
    expect((await create('Avalanche', { ...developer, owner_id: ownerId })).status).toBe(200)
    expect(await ownerRows(ownerId)).toEqual({ keyrings: 1, locks: 2, userKeys: 1, wallets: 4, keys: 4 })

    const { address } = first
    const both = { developer_secret: SECRET, user_pin: PIN }
    for (const [network, right, other] of [
      ['Ethereum', { developer_secret: SECRET }, { user_pin: PIN }],
      ['Polygon', { user_pin: PIN }, { developer_secret: SECRET }],
    ] as const) {
      expect((await signed(network, address, right)).status).toBe(200)
      expect(told(await signed(network, address, other))).toEqual({ status: 400, code: 'credential_required' })
      expect(told(await signed(network, address, {}))).toEqual({ status: 400, code: 'credential_required' })
      expect(told(await signed(network, address, both))).toEqual({ status: 400, code: 'credential_ambiguous' })
    }
  })
})

describe('a wrong PIN', () => {
  test('counts for the owner on any wallet, and five in a row lock the owner but not the secret', async () => {
    const ownerId = randomUUID()
    const networks = ['Ethereum', 'Polygon'] as const
    for (const network of networks) await create(network, { ...user, owner_id: ownerId })
    await create('Base', { ...developer, owner_id: ownerId, user_pin: PIN })
    const { address } = (await service.get('/wallets/get-by-owner-id', { network: 'Base', ownerID: ownerId })).json
    const sign = (network: string, credential: Record<string, string>) =>
      service.post('/transactions/sign', {
        network,
        signer_wallet_address: address,
        unsigned_transaction: {
          to: address,
          value: '0',
          gasLimit: '21000',
          maxFeePerGas: '1',
          maxPriorityFeePerGas: '1',
          nonce: '0',
        },
        ...credential,
      })
    const guesses = async () => (await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`)[0]

    expect(told(await sign('Ethereum', { user_pin: '000001' }))).toEqual({ status: 403, code: 'INVALID_SECRET' })
    expect(await guesses()).toEqual({ fails: 1, total: 1 })
    expect((await sign('Ethereum', { user_pin: PIN })).status).toBe(200)
    expect(await guesses()).toEqual({ fails: 0, total: 1 })
    for (let fails = 1; fails <= 5; fails += 1) {
      const wrong = await sign(networks[fails % 2] ?? 'Ethereum', { user_pin: '000002' })
      expect(told(wrong)).toEqual({ status: 403, code: 'INVALID_SECRET' })
    }
    expect(await guesses()).toEqual({ fails: 5, total: 6 })
    for (const user_pin of ['000003', PIN]) {
      const locked = await sign('Polygon', { user_pin })
      expect(told(locked)).toEqual({ status: 403, code: 'TOO_MANY_FAILED_ATTEMPTS' })
      expect(Number(locked.headers.get('retry-after'))).toBeGreaterThan(86_000)
    }
    expect(await guesses()).toEqual({ fails: 5, total: 6 })
    const made = await create('Avalanche', { ...user, owner_id: ownerId })
    expect(told(made)).toEqual({ status: 403, code: 'TOO_MANY_FAILED_ATTEMPTS' })
    expect((await sign('Base', { developer_secret: SECRET })).status).toBe(200)
  })
})

describe("another project's wallet", () => {
  test('is answered exactly like a missing one', async () => {
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const foreign = await other.newWallet({ network: 'Ethereum', ownerId: 'foreign' })
    const network = 'Ethereum'
    const contract_address = UNKNOWN_ADDRESS
    const developer_secret = SECRET
    const asked = (wallet: { id: string; address: string; owner_id: string }): Promise<Answer>[] => [
      service.get('/wallets/get-by-id', { network, id: wallet.id }),
      service.get('/wallets/get-by-address', { network, address: wallet.address }),
      service.get('/wallets/get-by-owner-id', { network, ownerID: wallet.owner_id }),
      service.get('/activity', { network, wallet_address: wallet.address }),
      service.get('/nfts', { network, wallet_address: wallet.address }),
      ...['sign', 'sign-and-send'].flatMap((verb) =>
        [network, null].map((named) =>
          service.post(`/transactions/${verb}`, {
            network: named,
            signer_wallet_address: wallet.address,
            unsigned_transaction: { to: wallet.address },
            developer_secret,
          }),
        ),
      ),
      service.post('/transactions/preview', { from: wallet.address, unsigned_transaction: { to: UNKNOWN_ADDRESS } }),
      service.post('/nfts/mint', { network, from: wallet.address, contract_address, developer_secret }),
      service.post('/nfts/transfer', {
        network,
        from: wallet.address,
        contract_address,
        recipient: UNKNOWN_ADDRESS,
        token_id: '1',
        developer_secret,
      }),
      service.post('/nfts/collections', {
        network,
        from: wallet.address,
        name: 'N',
        symbol: 'S',
        image_url: 'ipfs://x',
        developer_secret,
      }),
    ]
    const nobody = { id: randomUUID(), address: UNKNOWN_ADDRESS, owner_id: 'nobody' }
    const [theirs, unknown] = [await Promise.all(asked(foreign)), await Promise.all(asked(nobody))]
    expect(theirs.map(({ status, text }) => ({ status, text }))).toEqual(
      unknown.map(({ status, text }) => ({ status, text })),
    )
    for (const { status } of theirs) expect([400, 403, 404]).toContain(status)
    expect((await other.get('/wallets/get-by-id', { network, id: foreign.id })).status).toBe(200)
  })

  longTest('does not prevent one with the same owner id', async () => {
    const other = service.as(await createProject(service.ctx, { name: 'Same', actor: 'operator' }))
    const [mine, theirs] = await Promise.all([
      service.newWallet({ network: 'Ethereum', ownerId: 'same' }),
      other.newWallet({ network: 'Ethereum', ownerId: 'same' }),
    ])
    expect(mine.address).not.toBe(theirs.address)
  })
})

describe('look-ups', () => {
  test('find a wallet only on its own network', async () => {
    const made = await service.newWallet({ network: 'Base' })
    const query = { network: 'Polygon', id: made.id }
    expect(told(await service.get('/wallets/get-by-id', query))).toEqual({ status: 404, code: 'not_found' })
  })

  test('refuse two different owner ids', async () => {
    const query = { network: 'Base', ownerID: 'one', owner_id: 'other' }
    expect(told(await service.get('/wallets/get-by-owner-id', query))).toEqual({ status: 400, code: 'invalid_input' })
    const none = await service.get('/wallets/get-by-owner-id', { network: 'Base' })
    expect(told(none)).toEqual({ status: 400, code: 'invalid_input' })
  })
})

describe('the list', () => {
  test('has each wallet of the project once, oldest first, over its pages', async () => {
    const project = service.as(await createProject(service.ctx, { name: 'Pages', actor: 'operator' }))
    const made = []
    for (let count = 0; count < (isLong ? 24 : 4); count += 1)
      made.push((await project.newWallet({ network: 'Base' })).id)
    const page = async (query: Record<string, string>) =>
      (await project.get('/wallets', { network: 'Base', ...query })).json.map((wallet: { id: string }) => wallet.id)
    const all = await page({ page_size: '100' })
    // The project's own wallet is the oldest.
    expect(all.slice(1)).toEqual(made)
    expect(await page({})).toEqual(all.slice(0, 20))
    expect(await page({ page: '2' })).toEqual(all.slice(20))
    expect(all.length).toBeGreaterThan(4)
    for (const size of [3, 7]) {
      expect(await page({ page: '2', page_size: String(size) })).toEqual(all.slice(size, 2 * size))
    }
    expect(await page({ page: '999999', page_size: '100' })).toEqual([])
  })
})

describe('a mainnet project before its activation', () => {
  longTest('creates no wallet in either mode, and does not accept the testnet secret', async () => {
    const mainnet = await startService({
      rpcUrls: { Ethereum: NOWHERE },
      variables: { ENVIRONMENT: 'mainnet', DEVNET: 'false', PUBLIC_BASE_URL: 'https://wallets.example.org' },
    })
    try {
      const before = await countRows(mainnet.database.url)
      for (const body of [developer, user, { ...developer, developer_secret: 'x'.repeat(32) }]) {
        const refused = await mainnet.post('/wallets', { network: 'Ethereum', ...body })
        expect(told(refused)).toEqual({ status: 403, code: 'project_not_activated' })
      }
      const collection = {
        network: 'Ethereum',
        name: 'N',
        symbol: 'S',
        image_url: 'ipfs://x',
        developer_secret: SECRET,
      }
      const refused = await mainnet.post('/nfts/collections', collection)
      expect(told(refused)).toEqual({ status: 403, code: 'project_not_activated' })
      expect(await countRows(mainnet.database.url)).toEqual(before)
    } finally {
      await mainnet.close()
    }
  })
})

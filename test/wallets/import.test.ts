import { beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { english, generateMnemonic, generatePrivateKey, mnemonicToAccount, privateKeyToAccount } from 'viem/accounts'
import { createProject } from '../../src/operators/projects.ts'
import { EVM_NETWORKS } from '../../src/platform/networks.ts'
import { longTest, someOf } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { ANVIL, BIP_39, SR25519, SS58 } from '../vault/vectors.ts'

const NOWHERE = 'http://127.0.0.1:1'
const PIN = '493817'
const developer = { control_mode: 'developer', developer_secret: 'testnet-secret' }
const user = { control_mode: 'user', user_pin: PIN }
const [DEV_PHRASE] = SR25519

const service = await shared(
  startService({ rpcUrls: Object.fromEntries(EVM_NETWORKS.map((network) => [network, NOWHERE])) }),
)
const { sql } = service.database

/** A separate project, because a project can import an address once. */
const newProject = async () => importing(await createProject(service.ctx, { name: 'Import', actor: 'operator' }))

const importing = (project: Service['project']) => {
  const client = service.as(project)
  const importWallet = (body: Record<string, unknown>) =>
    client.post('/wallets/import', { network: 'Ethereum', name: 'Imported', owner_id: randomUUID(), ...body })
  return { ...client, ...project, importWallet }
}

/** The project of tests that import keys of their own, or published ones that no other of its tests imports there. */
const common = importing(service.project)

const guesses = async (ownerId: string) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${ownerId}`
  return row === undefined ? null : { ...row }
}
const keyrings = async (ownerId: string) => {
  const rows = await sql`select kind, (select array_agg(control_mode order by control_mode) from owner_locks l
    where l.keyring_id = k.id) as locks from keyrings k where owner_id = ${ownerId} order by created_at`
  return rows.map((row) => [row.kind, ...row.locks])
}

describe('import of a private key', () => {
  test.each(someOf(EVM_NETWORKS, 4))('creates the wallet of that key on %s, and it signs', async (network) => {
    const { importWallet, post, get } = common
    const made = await importWallet({ network, private_key: ANVIL.privateKey, ...developer })
    expect([made.status, made.json.address.toLowerCase()]).toEqual([200, `0x${ANVIL.address}`])
    expect(Object.keys(made.json).sort()).toEqual(['address', 'created_at', 'id', 'name', 'network', 'owner_id'])
    const found = await get('/wallets/get-by-address', { network, address: made.json.address })
    expect(found.json).toEqual(made.json)
    const unsigned = { to: made.json.address, value: '1', gasLimit: '21000', nonce: '0' }
    const fees = { maxFeePerGas: '1000000000', maxPriorityFeePerGas: '1000000000' }
    const signed = await post('/transactions/sign', {
      network,
      signer_wallet_address: made.json.address,
      unsigned_transaction: { ...unsigned, ...fees },
      developer_secret: 'testnet-secret',
    })
    expect(signed.json).toMatch(/^0x02/)
  })

  test('accepts hex with and without 0x, in any letter case', async () => {
    const { importWallet } = common
    for (const spell of [
      (key: string) => key,
      (key: string) => key.slice(2).toUpperCase(),
      (key: string) => ` ${key} `,
    ]) {
      const key = generatePrivateKey()
      const made = await importWallet({ private_key: spell(key), ...developer })
      expect(made.json.address).toBe(privateKeyToAccount(key).address)
    }
  })

  test('accepts a mini-secret on Polkadot and Vara', async () => {
    const { importWallet, get } = common
    const polkadot = await importWallet({ network: 'Polkadot', private_key: DEV_PHRASE?.miniSecret, ...user })
    expect(polkadot.json.address).toBe(SS58[1]?.address)
    const vara = await importWallet({ network: 'Vara', private_key: `0x${DEV_PHRASE?.miniSecret}`, ...developer })
    expect(vara.json.address).toMatch(/^kG/)
    for (const wallet of [polkadot.json, vara.json]) {
      const { network, address, owner_id } = wallet
      expect((await get('/wallets/get-by-address', { network, address })).json).toEqual(wallet)
      expect((await get('/wallets/get-by-owner-id', { network, ownerID: owner_id })).json).toEqual(wallet)
      expect((await get('/wallets/get-by-id', { network, id: wallet.id })).json).toEqual(wallet)
      expect((await get('/wallets', { network })).json).toContainEqual(wallet)
    }
  })

  test('creates the contract wallet of that key, with one address on all EVM networks', async () => {
    const { importWallet, get } = common
    const private_key = generatePrivateKey()
    const contract = { private_key, type: 'contract', ...developer }
    const made = await Promise.all(someOf(EVM_NETWORKS, 2).map((network) => importWallet({ network, ...contract })))
    expect(new Set(made.map(({ json }) => json.address)).size).toBe(1)
    const wallet = made[0]?.json
    const key = await importWallet({ private_key, ...developer })
    expect(key.json.address).toBe(privateKeyToAccount(private_key).address)
    expect(wallet.address).not.toBe(key.json.address)
    expect((await get('/wallets/get-by-address', { network: 'Ethereum', address: wallet.address })).json).toEqual(
      wallet,
    )
    const again = await importWallet({ network: 'Ethereum', ...contract })
    expect([again.status, again.json.code]).toEqual([409, 'wallet_exists'])
  })

  test('creates a separate keyring and no seed, so the owner’s next wallet has another key', async () => {
    const { importWallet, post } = common
    const ownerId = randomUUID()
    await importWallet({ owner_id: ownerId, private_key: generatePrivateKey(), ...user })
    const made = await post('/wallets', { network: 'Base', name: 'B', owner_id: ownerId, ...user })
    expect(made.status).toBe(200)
    expect(await keyrings(ownerId)).toEqual([
      ['key', 'user'],
      ['seed', 'user'],
    ])
  })
})

describe('import of a phrase', () => {
  /** Here nobody has imported the published phrases. */
  let another: ReturnType<typeof importing>
  beforeAll(async () => {
    another = await newProject()
  })

  test('becomes the seed of an owner without one, for every network', async () => {
    const { importWallet, post } = another
    const ownerId = randomUUID()
    const made = await importWallet({ owner_id: ownerId, mnemonic_phrase: ANVIL.phrase, ...user })
    expect(made.json.address.toLowerCase()).toBe(`0x${ANVIL.address}`)
    const base = await post('/wallets', { network: 'Base', name: 'B', owner_id: ownerId, ...user })
    expect(base.json.address).toBe(made.json.address)
    expect(await keyrings(ownerId)).toEqual([['seed', 'user']])
  })

  longTest(
    'of the development phrase gives the published addresses on Polkadot, and its key on all networks',
    async () => {
      const { importWallet, post } = another
      const ownerId = randomUUID()
      const phrase = DEV_PHRASE?.phrase ?? ''
      const made = await importWallet({ network: 'Polkadot', owner_id: ownerId, mnemonic_phrase: phrase, ...developer })
      expect(made.json.address).toBe(SS58[1]?.address)
      const evm = await post('/wallets', { network: 'Ethereum', name: 'E', owner_id: ownerId, ...developer })
      expect(evm.json.address).toBe(mnemonicToAccount(phrase).address)
    },
  )

  longTest('creates a separate keyring if the owner has a seed', async () => {
    const { importWallet, post } = await newProject()
    const ownerId = randomUUID()
    const seed = await post('/wallets', { network: 'Base', name: 'B', owner_id: ownerId, ...user })
    const made = await importWallet({ owner_id: ownerId, mnemonic_phrase: ANVIL.phrase, ...user })
    expect(made.json.address.toLowerCase()).toBe(`0x${ANVIL.address}`)
    const polygon = await post('/wallets', { network: 'Polygon', name: 'P', owner_id: ownerId, ...user })
    expect(polygon.json.address).toBe(seed.json.address)
    expect(await keyrings(ownerId)).toEqual([
      ['seed', 'user'],
      ['phrase', 'user'],
    ])
  })

  test.each(someOf([12, 15, 18, 21, 24], 5))('accepts %d words', async (words) => {
    const { importWallet } = common
    const found = BIP_39.find(({ phrase }) => phrase.split(' ').length === words)?.phrase
    const phrase = found ?? OTHER_LENGTHS[words] ?? ''
    expect(phrase.split(' ').length).toBe(words)
    const made = await importWallet({ mnemonic_phrase: `  ${phrase.replaceAll(' ', '  ')}\n`, ...developer })
    expect(made.json.address).toBe(mnemonicToAccount(phrase).address)
  })

  longTest('twice at once for a new owner: one becomes the seed, the other a separate keyring', async () => {
    const { importWallet } = await newProject()
    const ownerId = randomUUID()
    const networks = EVM_NETWORKS.slice(0, 4)
    const imports = networks.map((network, index) =>
      importWallet({ network, owner_id: ownerId, mnemonic_phrase: BIP_39[index]?.phrase, ...user }),
    )
    expect((await Promise.all(imports)).map(({ status }) => status)).toEqual([200, 200, 200, 200])
    const kinds = (await keyrings(ownerId)).map(([kind]) => kind).sort()
    expect(kinds).toEqual(['phrase', 'phrase', 'phrase', 'seed'])
  })
})

/** BIP-39's own vectors have no phrases of 15 and 21 words; these encode zeroes, and viem accepts them too. */
const OTHER_LENGTHS: Record<number, string> = {
  15: `${'abandon '.repeat(14)}address`,
  21: `${'abandon '.repeat(20)}admit`,
}

describe('a second import', () => {
  test('of an address is refused only after the credential, keeps nothing, and reveals nothing about other projects', async () => {
    const { importWallet } = common
    const another = await newProject()
    const key = generatePrivateKey()
    const ownerId = randomUUID()
    expect((await importWallet({ owner_id: ownerId, private_key: key, ...user })).status).toBe(200)
    const other = randomUUID()
    const again = async (credential: Record<string, unknown>) => {
      const { status, json } = await importWallet({ owner_id: other, private_key: key, ...credential })
      return [status, json.code]
    }
    expect(await again({ control_mode: 'user' })).toEqual([400, 'credential_required'])
    expect(await again({ ...user, user_pin: '123456' })).toEqual([400, 'pin_obvious'])
    expect(await again({ ...developer, developer_secret: 'wrong' })).toEqual([403, 'INVALID_SECRET'])
    for (const credential of [developer, user]) expect(await again(credential)).toEqual([409, 'wallet_exists'])
    expect([await keyrings(other), await guesses(other)]).toEqual([[], null])
    const mine = await importWallet({ owner_id: ownerId, private_key: key, ...user, user_pin: '000000' })
    expect([mine.status, mine.json.code]).toEqual([409, 'wallet_exists'])
    expect(await guesses(ownerId)).toEqual({ fails: 0, total: 0 })
    expect((await importWallet({ network: 'Base', private_key: key, ...developer })).status).toBe(200)
    expect((await another.importWallet({ private_key: key, ...developer })).status).toBe(200)
  })

  test('for an owner with a wallet on the network is refused before any PIN is checked', async () => {
    const { importWallet, post } = common
    const ownerId = randomUUID()
    await post('/wallets', { network: 'Ethereum', name: 'E', owner_id: ownerId, ...user })
    const private_key = generatePrivateKey()
    const again = await importWallet({ owner_id: ownerId, private_key, ...user, user_pin: '000000' })
    expect([again.status, again.json.code]).toEqual([409, 'wallet_exists'])
    expect(await guesses(ownerId)).toEqual({ fails: 0, total: 0 })
  })

  test('at the same time, by many owners, creates one wallet', async () => {
    const { importWallet } = common
    const private_key = generatePrivateKey()
    const answers = await Promise.all(Array.from({ length: 8 }, () => importWallet({ private_key, ...developer })))
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(409)])
    const codes = new Set(answers.filter(({ status }) => status === 409).map(({ json }) => json.code))
    expect([...codes]).toEqual(['wallet_exists'])
  })

  longTest('is refused, and so is a new wallet with an address that another owner has imported', async () => {
    const { importWallet, post } = await newProject()
    await importWallet({ mnemonic_phrase: ANVIL.phrase, ...developer })
    const ownerId = randomUUID()
    const seed = { network: 'Base', owner_id: ownerId, mnemonic_phrase: ANVIL.phrase, ...developer }
    expect((await importWallet(seed)).status).toBe(200)
    const made = await post('/wallets', { network: 'Ethereum', name: 'E', owner_id: ownerId, ...developer })
    expect([made.status, made.json.code]).toEqual([409, 'wallet_exists'])
  })
})

describe('the credential of an import', () => {
  test('is the PIN of an owner who has one, and a wrong one is counted', async () => {
    const { importWallet, post } = common
    const ownerId = randomUUID()
    await post('/wallets', { network: 'Base', name: 'B', owner_id: ownerId, ...user })
    const body = { owner_id: ownerId, private_key: generatePrivateKey(), ...user }
    const wrong = await importWallet({ ...body, user_pin: '000000' })
    expect([wrong.status, wrong.json.code]).toEqual([403, 'INVALID_SECRET'])
    expect(await guesses(ownerId)).toEqual({ fails: 1, total: 1 })
    expect((await importWallet(body)).status).toBe(200)
  })

  test('is only that of its own mode, because an imported keyring has no lock of the other mode', async () => {
    const { importWallet, post } = common
    const ownerId = randomUUID()
    await post('/wallets', { network: 'Base', name: 'B', owner_id: ownerId, ...user })
    const body = { owner_id: ownerId, private_key: generatePrivateKey() }
    const both = await importWallet({ ...body, ...developer, user_pin: PIN })
    expect([both.status, both.json.code]).toEqual([400, 'credential_ambiguous'])
    expect((await importWallet({ ...body, ...developer })).status).toBe(200)
    expect(await keyrings(ownerId)).toEqual([
      ['seed', 'user'],
      ['key', 'developer'],
    ])
  })

  longTest('of an imported seed is needed as for any seed: both for a wallet of the other mode', async () => {
    const { importWallet, post } = await newProject()
    const ownerId = randomUUID()
    await importWallet({ owner_id: ownerId, mnemonic_phrase: ANVIL.phrase, ...user })
    const body = { network: 'Base', name: 'B', owner_id: ownerId, ...developer }
    expect((await post('/wallets', body)).json.code).toBe('credential_required')
    expect((await post('/wallets', { ...body, user_pin: PIN })).status).toBe(200)
    const [shared] = await sql`select count(*)::int as n from audit a join wallets w on w.id::text = a.subject
      where w.owner_id = ${ownerId} and action = 'control_shared'`
    expect(shared?.n).toBe(1)
  })

  test('leaves one audit row that says what was imported', async () => {
    const { importWallet } = common
    const made = await importWallet({ private_key: generatePrivateKey(), ...developer })
    const rows = await sql`select action, actor, details from audit where subject = ${made.json.id}`
    expect(rows.map((row) => [row.action, row.details.keyring_kind])).toEqual([['wallet_imported', 'key']])
    expect(rows[0]?.actor).toMatch(/^api_key:/)
  })
})

describe('an invalid import', () => {
  const key = '1'.padStart(64, '0')
  const { importWallet } = common
  test.each([
    ['both', { private_key: key, mnemonic_phrase: ANVIL.phrase }, 400, 'invalid_input'],
    ['neither', {}, 400, 'invalid_input'],
    ['null for both', { private_key: null, mnemonic_phrase: null }, 400, 'invalid_input'],
    ['a key of 31 bytes', { private_key: key.slice(2) }, 400, 'invalid_key'],
    ['a key of 33 bytes', { private_key: `00${key}` }, 400, 'invalid_key'],
    ['0', { private_key: '0'.repeat(64) }, 400, 'invalid_key'],
    ['0 on Polkadot', { network: 'Polkadot', private_key: '0'.repeat(64) }, 400, 'invalid_key'],
    ['an empty key', { private_key: '' }, 400, 'invalid_key'],
    ['an empty phrase', { mnemonic_phrase: '' }, 400, 'invalid_key'],
    ['a word that does not exist', { mnemonic_phrase: ANVIL.phrase.replace('junk', 'vermilion') }, 400, 'invalid_key'],
    ['a checksum that does not hold', { mnemonic_phrase: ANVIL.phrase.replace('junk', 'test') }, 400, 'invalid_key'],
    ['a key as a number', { private_key: 1 }, 400, 'invalid_input'],
    ['a phrase as a list', { mnemonic_phrase: ANVIL.phrase.split(' ') }, 400, 'invalid_input'],
    ['a contract wallet on Vara', { network: 'Vara', private_key: key, type: 'contract' }, 400, 'invalid_input'],
    ['a type that there is not', { private_key: key, type: 'multisig' }, 400, 'invalid_input'],
    ['no credential', { private_key: key, developer_secret: null }, 400, 'credential_required'],
    ['a wrong secret', { private_key: key, developer_secret: 'wrong' }, 403, 'INVALID_SECRET'],
    ['no name', { private_key: key, name: null }, 400, 'invalid_input'],
  ])('%s', async (_what, body, status, code) => {
    const ownerId = randomUUID()
    const answer = await importWallet({ owner_id: ownerId, ...developer, ...body })
    expect([answer.status, answer.json.code]).toEqual([status, code])
    for (const value of [key, key.slice(2), 'vermilion', 'junk', '0'.repeat(31)])
      expect(answer.text).not.toContain(value)
    expect(await keyrings(ownerId)).toEqual([])
  })
})

describe('earlier activity of an imported address', () => {
  const backfillsOf = async (address: string) =>
    (
      await sql`select network, key_made_at is not null as made_here, exists (
        select from graphile_worker.jobs where key = 'backfill:' || network || ':' || address) as job
        from backfills where address = ${address} order by network`
    ).map(({ network, made_here, job }) => [network, made_here, job])

  longTest('is indexed on each network of the import, once for two projects', async () => {
    const first = await newProject()
    const phrase = generateMnemonic(english)
    const owner_id = randomUUID()
    const { json } = await first.importWallet({ owner_id, mnemonic_phrase: phrase, ...developer })
    expect(await backfillsOf(json.address)).toEqual([['Ethereum', false, true]])
    await first.post('/wallets', { network: 'Base', name: 'More', owner_id, ...developer })
    const second = await newProject()
    await second.importWallet({ mnemonic_phrase: phrase, ...developer })
    expect(await backfillsOf(json.address)).toEqual([
      ['Base', false, true],
      ['Ethereum', false, true],
    ])
  })

  longTest('is not indexed for a new key; elsewhere only from its creation on', async () => {
    const { post } = await newProject()
    const body = { name: 'New', owner_id: randomUUID(), ...developer }
    const { json } = await post('/wallets', { network: 'Ethereum', ...body })
    expect(await backfillsOf(json.address)).toEqual([])
    await post('/wallets', { network: 'Base', ...body })
    expect(await backfillsOf(json.address)).toEqual([['Base', true, true]])
  })
})

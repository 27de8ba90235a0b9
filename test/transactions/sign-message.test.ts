// Signed messages: by keys, without a reachable node; by contract wallets, on a chain with Safe's contracts.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, randomUUID } from 'node:crypto'
import { signatureVerify } from '@polkadot/util-crypto'
import { sr25519Verify } from '@polkadot/util-crypto/sr25519'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import {
  type Address,
  getAddress,
  type Hex,
  hashMessage,
  isErc6492Signature,
  keccak256,
  parseAbi,
  stringToBytes,
  verifyMessage,
} from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import type { ContractWallets } from '../../src/chains/contract-wallets.ts'
import { freeze, unfreeze } from '../../src/operators/freezes/freeze.ts'
import { createProject } from '../../src/operators/projects.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'

const NOWHERE = 'http://127.0.0.1:1'
const PIN = '493817'
const SECRET = 'testnet-secret'
const secret = { developer_secret: SECRET }
const pin = { user_pin: PIN }
const both = { ...secret, ...pin }
const HELLO = 'Strongroom says hello.'
const SAFE = parseAbi([
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
  'function addOwnerWithThreshold(address owner, uint256 threshold)',
])

let chain: TestChain
let service: Service
let sql: Sql

beforeAll(async () => {
  chain = await startChain('Ethereum')
  await deployCanonicalContracts(chain.rpcUrl)
  service = await startService({ rpcUrls: { Ethereum: chain.rpcUrl, Polygon: NOWHERE, Base: NOWHERE } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
})
afterAll(async () => {
  await sql?.end()
  await service?.close()
  await chain?.stop()
})

type Wallet = { readonly address: Hex; readonly network: string; readonly id: string; readonly owner_id: string }

const sign = (wallet: Pick<Wallet, 'address' | 'network'>, rest: Record<string, unknown>) =>
  service.post('/transactions/sign-message', {
    network: wallet.network,
    signer_wallet_address: wallet.address,
    message: HELLO,
    ...rest,
  })

const told = (answer: Answer) => ({ status: answer.status, code: answer.json?.code })

const signatureOf = (answer: Answer): Hex => {
  if (answer.status !== 200) throw new Error(answer.text)
  expect(Object.keys(answer.json)).toEqual(['signature'])
  return answer.json.signature
}

const audited = async (wallet: Wallet) => {
  const rows =
    await sql`select details from audit where subject = ${wallet.id} and action = 'message_signed' order by id`
  return rows.map((row) => row.details)
}

const sha256 = (message: string | Uint8Array) => createHash('sha256').update(message).digest('hex')

/** "Test Signing Messages" of the tests of ethers 4, and `web3.eth.accounts.sign` of the manual of web3.js. */
const VECTORS = [
  {
    key: '0x0123456789012345678901234567890123456789012345678901234567890123',
    address: '0x14791697260E4c9A71f18484C9f997B308e59325',
    message: { message: 'hello world' },
    signature:
      '0xddd0a7290af9526056b4e35a077b9a11b513aa0028ec6c9880948544508f3c63265e99e47ad31bb2cab9646c504576b3abc6939a1710afc08cbf3034d73214b81c',
  },
  {
    key: '0x51d1d6047622bca92272d36b297799ecc152dc2ef91b229debf84fc41e8c73ee',
    address: '0xD351c7c627ad5531Edb9587f4150CaF393c33E87',
    message: {
      message: '0x47173285a8d7341e5e972fc677286384f802f8ef42a5ec5f03bbfa254cb01fad',
      message_type: 'bytes',
    },
    signature:
      '0x546f0c996fa4cfbf2b68fd413bfb477f05e44e66545d7782d87d52305831cd055fc9943e513297d0f6755ad1590a5476bf7d1761d4f9dc07dfe473824bbdec751b',
  },
  {
    key: '0x09a11afa58d6014843fd2c5fd4e21e7fadf96ca2d8ce9934af6b8e204314f25c',
    address: '0xe7deA7e64B62d1Ca52f1716f29cd27d4FE28e3e1',
    message: {
      message: keccak256(stringToBytes('0x7f23b5eed5bc7e89f267f339561b2697faab234a2')),
      message_type: 'bytes',
    },
    signature:
      '0x7222038446034a0425b6e3f0cc3594f0d979c656206408f937c37a8180bb1bea047d061e4ded4aeac77fa86eb02d42ba7250964ac3eb9da1337090258ce798491c',
  },
  {
    key: '0x4c0883a69102937d6231471b5dbb6204fe5129617082792ae468d01a3f362318',
    address: '0x2c7536E3605D9C16a7a3D7b1898e529396a65c23',
    message: { message: 'Some data', message_type: 'string' },
    signature:
      '0xb91467e570a6466aa9e9876cbcd013baba02900b8979d43fe208a4a4f339f5fd6007e74cd82e037b800186422fc2da167c747ef045e5d18a5f5d4300f8e1a0291c',
  },
] as const

const imported = async (private_key: string): Promise<Wallet> => {
  const body = { network: 'Polygon', name: 'I', control_mode: 'developer', private_key, ...secret }
  const answer = await service.post('/wallets/import', body)
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json
}

describe("a key's message", () => {
  /** It signs nothing. */
  let untouched: Wallet
  beforeAll(async () => {
    untouched = await service.newWallet({ network: 'Polygon' })
  })

  test.each(someOf(VECTORS, 2))('of $address is signed by EIP-191 without a node', async (vector) => {
    const wallet = await imported(vector.key)
    expect(wallet.address).toBe(vector.address)
    expect(signatureOf(await sign(wallet, { ...vector.message, ...secret }))).toBe(vector.signature)
  })

  test('is the bytes of the hex, or the UTF-8 of the text, even if that looks like hex', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon' })
    const { address } = wallet
    const large = `0x${'a7'.repeat(isLong ? 1_000_000 : 10_000)}` as const
    const cases = [
      ['0xdeadBEEF', '0xdeadbeef'],
      ['0x', '0x'],
      [large, large],
    ] as const
    for (const [message, raw] of cases) {
      const asBytes = signatureOf(await sign(wallet, { message, message_type: 'bytes', ...secret }))
      const asText = signatureOf(await sign(wallet, { message, ...secret }))
      expect(await verifyMessage({ address, message: { raw }, signature: asBytes })).toBe(true)
      expect(await verifyMessage({ address, message, signature: asText })).toBe(true)
      expect(asText).not.toBe(asBytes)
    }
    for (const message of [
      '',
      ' ',
      'a\nb\r\n\t',
      'Grüße, 世界, 👩🏽‍🚀',
      '\u0301e',
      '\ufeff',
      '\u{1f600}'.repeat(isLong ? 100_000 : 1_000),
    ]) {
      const signature = signatureOf(await sign(wallet, { message, message_type: null, ...secret }))
      expect(await verifyMessage({ address, message: { raw: Buffer.from(message) }, signature })).toBe(true)
    }
  })

  test('is in the audit by its digest, its type and its network', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon' })
    await sign(wallet, secret)
    await sign(wallet, { message: '0x00ff', message_type: 'bytes', ...secret })
    await sign(wallet, { message: '0x00f', message_type: 'bytes', ...secret })
    await sign(wallet, { developer_secret: 'wrong' })
    expect(await audited(wallet)).toEqual([
      { network: 'Polygon', message_type: 'string', message_sha256: sha256(HELLO), hash: hashMessage(HELLO) },
      {
        network: 'Polygon',
        message_type: 'bytes',
        message_sha256: sha256(new Uint8Array([0, 255])),
        hash: hashMessage({ raw: '0x00ff' }),
      },
    ])
  })

  test('is not signed if the audit row cannot be written', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon' })
    await sql`alter table audit add constraint refuse check (action <> 'message_signed') not valid`
    const answer = await sign(wallet, secret)
    await sql`alter table audit drop constraint refuse`
    expect(told(answer)).toEqual({ status: 500, code: 'internal' })
  })

  test.each([
    ['hex of half a byte', { message: '0xabc', message_type: 'bytes' }],
    ['hex without 0x', { message: 'abcd', message_type: 'bytes' }],
    ['hex with 0X', { message: '0Xabcd', message_type: 'bytes' }],
    ['no hex', { message: '0xzz', message_type: 'bytes' }],
    ['hex with spaces', { message: '0xab cd', message_type: 'bytes' }],
    ['hex with a line behind', { message: '0xabcd\n', message_type: 'bytes' }],
    ['nothing, as bytes', { message: '', message_type: 'bytes' }],
    ['half a surrogate pair', { message: 'a\ud800' }],
    ['another type', { message_type: 'hex' }],
    ['an empty type', { message_type: '' }],
    ['a list', { message: ['0xab'], message_type: 'bytes' }],
    ['a number', { message: 5 }],
    ['no message', { message: null }],
    ['more than is asked for', { nonsense: 'x' }],
  ])('is refused: %s', async (_what, body) => {
    expect(told(await sign(untouched, { ...body, ...secret }))).toEqual({ status: 400, code: 'invalid_input' })
    expect(await audited(untouched)).toEqual([])
  })

  test('ignores an Idempotency-Key: two messages with one key are both signed', async () => {
    const { address, network } = await service.newWallet({ network: 'Polygon' })
    const body = { network, signer_wallet_address: address, ...secret }
    const signatures: Hex[] = []
    for (const message of ['one', 'two']) {
      const headers = { 'idempotency-key': 'the same' }
      signatures.push(signatureOf(await service.post('/transactions/sign-message', { ...body, message }, headers)))
    }
    expect(await verifyMessage({ address, message: 'two', signature: signatures[1] ?? '0x' })).toBe(true)
  })
})

describe("an sr25519 key's message", () => {
  const chainOf = (network: string) => service.ctx.chains.get(network === 'Vara' ? 'Vara' : 'Polkadot')
  const publicKeyOf = async ({ id }: Wallet): Promise<Uint8Array> => {
    const [row] = await sql`select public_key from wallets where id = ${id}`
    return row?.public_key
  }

  test.each(someOf(['Polkadot', 'Vara'], 2))(
    'on %s is verified by polkadot-js and by us, without a node',
    async (network) => {
      const wallet: Wallet = await service.newWallet({ network, pin: PIN })
      const { address } = wallet
      const messages = ['', HELLO, 'Grüße, 世界, 👩🏽‍🚀', '0xdeadbeef', `<Bytes>${HELLO}</Bytes>`, 'a'.repeat(100_000)]
      for (const message of someOf(messages, 2)) {
        const signature = signatureOf(await sign(wallet, { message, ...pin }))
        expect(signature).toMatch(/^0x[0-9a-f]{128}$/)
        expect(signatureVerify(Buffer.from(message), signature, address)).toMatchObject({
          isValid: true,
          crypto: 'sr25519',
        })
        expect(await chainOf(network).verifyMessage({ address, message, signature })).toBe('key')
        expect(signatureVerify(Buffer.from(`${message} `), signature, address).isValid).toBe(false)
      }
      const [first] = await audited(wallet)
      expect(first).toEqual({
        network,
        message_type: 'string',
        message_sha256: sha256(''),
        hash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
      })
    },
  )

  test('is always signed between <Bytes> tags, and not wrapped twice', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polkadot' })
    const publicKey = await publicKeyOf(wallet)
    const [opening, closing] = [Buffer.from('<Bytes>'), Buffer.from('</Bytes>')]
    const cases = [
      ['nothing', Buffer.alloc(0), true],
      ['no UTF-8', Buffer.from('00ff80fe', 'hex'), true],
      ['as long as a hash', Buffer.alloc(32, 7), true],
      ['as long as a payload', Buffer.alloc(200, 7), true],
      ['an opening alone', Buffer.from('<Bytes>a'), true],
      ['a closing alone', Buffer.from('a</Bytes>'), true],
      ['an unfinished closing', Buffer.from('<Bytes></Bytes'), true],
      ['in other letters', Buffer.from('<bytes>a</bytes>'), true],
      ['begun as EIP-191 does, which could be of a call', Buffer.from('\x19Ethereum Signed Message:\n1a'), true],
      ['wrapped', Buffer.from('<Bytes>a</Bytes>'), false],
      ['an empty wrapping', Buffer.from('<Bytes></Bytes>'), false],
    ] as const
    for (const [what, bytes, isBare] of someOf(cases, 3)) {
      const message = `0x${bytes.toString('hex')}`
      const signature = signatureOf(await sign(wallet, { message, message_type: 'bytes', ...secret }))
      const raw = Buffer.from(signature.slice(2), 'hex')
      const inWrapping = sr25519Verify(Buffer.concat([opening, bytes, closing]), raw, publicKey)
      expect([what, inWrapping, sr25519Verify(bytes, raw, publicKey)]).toEqual([what, isBare, !isBare])
    }
  })

  longTest('needs the credentials of all locks of the keyring, and its wallet is found without a network', async () => {
    const ownerId = randomUUID()
    const theirs: Wallet = await service.newWallet({ network: 'Vara', ownerId, pin: PIN })
    expect((await sign(theirs, { network: null, ...pin })).status).toBe(200)
    const shared = { network: 'Polkadot', name: 'S', owner_id: ownerId, control_mode: 'developer', ...both }
    const ours: Wallet = (await service.post('/wallets', shared)).json
    for (const wallet of [theirs, ours]) {
      expect(told(await sign(wallet, pin))).toEqual({ status: 400, code: 'credential_required' })
      const signature = signatureOf(await sign(wallet, both))
      expect(signatureVerify(HELLO, signature, wallet.address).isValid).toBe(true)
    }
    expect(told(await sign({ ...theirs, network: 'Polkadot' }, both))).toEqual({
      status: 400,
      code: 'network_mismatch',
    })
    expect(told(await sign({ ...theirs, network: 'Ethereum' }, both)).status).toBe(400)
  })

  test('is not signed if the database says that its wallet is on an EVM network', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polkadot' })
    const moved = { network: 'Polygon', address: getAddress(`0x${'a7'.repeat(20)}`) }
    await sql`update wallets set ${sql(moved)} where id = ${wallet.id}`
    expect(told(await sign({ ...wallet, ...moved }, secret))).toEqual({ status: 500, code: 'internal' })
    expect(await audited(wallet)).toEqual([])
  })
})

describe('the wallet', () => {
  test("is found without a network if the address is on one network only, and other projects' wallets are not found", async () => {
    const ownerId = randomUUID()
    const wallet: Wallet = await service.newWallet({ network: 'Polygon', ownerId })
    expect((await sign(wallet, { network: null, ...secret })).status).toBe(200)
    await service.newWallet({ network: 'Base', ownerId })
    expect(told(await sign(wallet, { network: null, ...secret }))).toEqual({ status: 400, code: 'network_required' })
    expect(told(await sign({ ...wallet, network: 'Ethereum' }, secret))).toEqual({ status: 404, code: 'not_found' })
    const other = service.as(await createProject(service.ctx, { name: 'Other', actor: 'operator' }))
    const theirs = await other.newWallet({ network: 'Polygon' })
    const nobodys = await sign({ network: 'Polygon', address: fundedAccount(9).address }, secret)
    const answer = await sign(theirs, secret)
    expect(told(answer)).toEqual({ status: 404, code: 'not_found' })
    expect(answer.text).toBe(nobodys.text)
  })

  test('that is frozen signs nothing, and no PIN guess is charged', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon', pin: PIN })
    const frozen = { target: { scope: 'wallet', walletId: wallet.id }, reason: 'test', actor: 'operator' } as const
    await freeze(service.ctx, frozen)
    expect(told(await sign(wallet, { user_pin: '000000' }))).toEqual({ status: 403, code: 'frozen' })
    await unfreeze(service.ctx, frozen)
    expect((await sign(wallet, pin)).status).toBe(200)
    expect(await guesses(wallet)).toEqual({ fails: 0, total: 0 })
  })
})

const guesses = async (wallet: Wallet) => {
  const [row] = await sql`select fails, total from pin_guesses where owner_id = ${wallet.owner_id}`
  return { ...row }
}

describe('the credential', () => {
  test('is that of the control mode, and a wrong PIN is charged', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon', pin: PIN })
    const codes = []
    for (const credential of [{}, secret, both, { user_pin: '000000' }]) {
      codes.push((await sign(wallet, credential)).json.code)
    }
    expect(codes).toEqual(['credential_required', 'credential_required', 'credential_ambiguous', 'INVALID_SECRET'])
    expect(await guesses(wallet)).toEqual({ fails: 1, total: 1 })
    expect((await sign(wallet, pin)).status).toBe(200)
    expect(await guesses(wallet)).toEqual({ fails: 0, total: 1 })
  })

  longTest('is both credentials for each wallet of a shared keyring', async () => {
    const ownerId = randomUUID()
    const theirs: Wallet = await service.newWallet({ network: 'Polygon', ownerId, pin: PIN })
    const shared = { network: 'Base', name: 'S', owner_id: ownerId, control_mode: 'developer', ...both }
    const ours: Wallet = (await service.post('/wallets', shared)).json
    for (const wallet of [theirs, ours]) {
      for (const credential of [secret, pin, {}]) {
        expect(told(await sign(wallet, credential))).toEqual({ status: 400, code: 'credential_required' })
      }
      expect(told(await sign(wallet, { ...both, user_pin: '000000' }))).toEqual({ status: 403, code: 'INVALID_SECRET' })
      const signature = signatureOf(await sign(wallet, both))
      expect(await verifyMessage({ address: wallet.address, message: HELLO, signature })).toBe(true)
    }
  })

  test('is never that of a policy', async () => {
    const wallet: Wallet = await service.newWallet({ network: 'Polygon', pin: PIN })
    const argument_rules = [{ argument: 'value', operator: 'ge', value: '0' }]
    const policy = { network: 'Polygon', wallet_address: wallet.address, argument_rules, max_total_fee: '1', ...both }
    expect((await service.post('/policies', policy)).status).toBe(200)
    expect(told(await sign(wallet, secret))).toEqual({ status: 400, code: 'credential_required' })
    expect((await sign(wallet, pin)).status).toBe(200)
  })
})

describe("a contract wallet's message", () => {
  let safe: Wallet
  let safes: ContractWallets

  beforeAll(async () => {
    const body = { network: 'Ethereum', name: 'Safe', type: 'contract', control_mode: 'user', ...pin }
    const answer = await service.post('/wallets', body)
    if (answer.status !== 200) throw new Error(answer.text)
    safe = answer.json
    const { contractWallets } = service.ctx.chains.get('Ethereum')
    if (contractWallets === null) throw new Error('Ethereum has contract wallets')
    safes = contractWallets
  })

  const isValid = (message: string | { readonly raw: Hex }, signature: Hex) =>
    chain.publicClient.verifyMessage({ address: safe.address, message, signature })

  const ownerOf = async (): Promise<Address> => {
    const [row] = await sql`select public_key from wallets where id = ${safe.id}`
    return getAddress(service.ctx.chains.get('Ethereum').addressOf(row?.public_key))
  }

  test('is valid before deployment (ERC-6492)', async () => {
    const signature = signatureOf(await sign(safe, pin))
    expect(isErc6492Signature(signature)).toBe(true)
    expect(await isValid(HELLO, signature)).toBe(true)
    expect(await isValid(`${HELLO} `, signature)).toBe(false)
    const raw = '0x00c0ffee'
    const ofBytes = signatureOf(await sign(safe, { message: raw, message_type: 'bytes', ...pin }))
    expect(await isValid({ raw }, ofBytes)).toBe(true)
    expect(await isValid(raw, ofBytes)).toBe(false)
  })

  test('is valid for the wallet, and not for its key', async () => {
    const signature = signatureOf(await sign(safe, pin))
    const owner = await ownerOf()
    expect(owner).not.toBe(safe.address)
    expect(await chain.publicClient.verifyMessage({ address: owner, message: HELLO, signature })).toBe(false)
    expect(told(await sign({ ...safe, address: owner }, pin))).toEqual({ status: 404, code: 'not_found' })
  })

  test('is valid after deployment (ERC-1271), also if it was signed before', async () => {
    const before = signatureOf(await sign(safe, pin))
    const { to, input } = safes.deployment(safes.of(await ownerOf()))
    await chain.send({ to: getAddress(to ?? ''), data: input })
    const signature = signatureOf(await sign(safe, pin))
    expect(isErc6492Signature(signature)).toBe(false)
    const read = { address: safe.address, abi: SAFE, functionName: 'isValidSignature' } as const
    expect(await chain.publicClient.readContract({ ...read, args: [hashMessage(HELLO), signature] })).toBe('0x1626ba7e')
    await expect(
      chain.publicClient.readContract({ ...read, args: [hashMessage('another'), signature] }),
    ).rejects.toThrow('GS026')
    expect(await isValid(HELLO, before)).toBe(true)
  })

  test('is not signed for a wallet that was changed from outside, nor if that cannot be checked', async () => {
    const polygon = {
      network: 'Polygon',
      name: 'Safe',
      owner_id: safe.owner_id,
      type: 'contract',
      control_mode: 'user',
    }
    const elsewhere: Wallet = (await service.post('/wallets', { ...polygon, ...pin })).json
    expect(elsewhere.address).toBe(safe.address)
    expect(told(await sign(elsewhere, pin))).toEqual({ status: 503, code: 'node_unavailable' })
    await chain.fund(safe.address)
    await chain.testClient.impersonateAccount({ address: safe.address })
    const added = await chain.walletClient.writeContract({
      account: safe.address,
      address: safe.address,
      abi: SAFE,
      functionName: 'addOwnerWithThreshold',
      args: [fundedAccount(3).address, 1n],
    })
    expect((await chain.receiptOf(added)).status).toBe('success')
    const count = (await audited(safe)).length
    const answer = await sign(safe, { user_pin: '000000' })
    expect(told(answer)).toEqual({ status: 409, code: 'contract_wallet_changed' })
    expect(answer.json.error).toStartWith(`The contract wallet ${safe.address} no longer obeys its key alone: `)
    expect(answer.json.error).toEndWith('. Strongroom does not sign for it.')
    expect(told(await sign(safe, pin))).toEqual({ status: 409, code: 'contract_wallet_changed' })
    expect([(await audited(safe)).length, await guesses(safe)]).toEqual([count, { fails: 0, total: 0 }])
  })
})

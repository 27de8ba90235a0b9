// Logging in with a wallet: EVM keys, Substrate keys and contracts.

import { beforeAll, describe, expect, test } from 'bun:test'
import { randomBytes } from 'node:crypto'
import { encodeAddress } from '@polkadot/util-crypto/address'
import { sr25519PairFromSeed, sr25519Sign } from '@polkadot/util-crypto/sr25519'
import {
  getCompatibilityFallbackHandlerDeployment,
  getProxyFactoryDeployment,
  getSafeL2SingletonDeployment,
} from '@safe-global/safe-deployments'
import { decodeJwt } from 'jose'
import {
  type Address,
  encodeFunctionData,
  getAddress,
  type Hex,
  hashMessage,
  parseAbi,
  serializeErc6492Signature,
  zeroAddress,
} from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import { createSiweMessage } from 'viem/siwe'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { addOrigins } from '../../src/identity/projects/settings.ts'
import { createProject } from '../../src/operators/projects.ts'
import { startChain } from '../support/chains.ts'
import { longTest, someOf } from '../support/long.ts'
import { startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'

const APP = 'https://app.example.com'
const SHOP = 'https://shop.example.com:8443'
const [SEPOLIA, AMOY, BASE_SEPOLIA] = [11_155_111, 80_002, 84_532]
/** The order of secp256k1. */
const N = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

const chain = await shared(startChain('Ethereum'))
await deployCanonicalContracts(chain.rpcUrl)
const service = await shared(
  startService({
    rpcUrls: { Ethereum: chain.rpcUrl, Polygon: 'http://127.0.0.1:1' },
    // The limits of a real deployment apply. Each caller has its own address.
    variables: { DEVNET: 'false', TRUSTED_PROXIES: '1' },
  }),
)
await addOrigins(service.ctx, { projectId: service.project.projectId, origins: [APP, SHOP] })
const { sql } = service.database

let askers = 0
const asker = () => {
  askers += 1
  return { authorization: undefined, 'x-forwarded-for': `10.0.${askers >> 8}.${askers & 255}` }
}

const begin = (wallet: string, headers: Record<string, string | undefined> = {}) =>
  service.post('/users/login-with-wallet', { sign_in_wallet: wallet }, { ...asker(), ...headers })
const nonceFor = async (wallet: string): Promise<string> => {
  const answer = await begin(wallet)
  if (answer.status !== 200) throw new Error(`no nonce: ${answer.text}`)
  return answer.json.nonce
}

type Proof = { readonly message: string; readonly signature: string; readonly userId?: string }
const prove = ({ message, signature, userId }: Proof, headers: Record<string, string | undefined> = {}) =>
  service.post(
    '/users/verify-login',
    { siwe_message: message, signature, user_id: userId ?? null },
    { ...asker(), ...headers },
  )

const newKey = () => privateKeyToAccount(generatePrivateKey())

type Fields = Partial<Parameters<typeof createSiweMessage>[0]>
const messageOf = (address: string, nonce: string, changes: Fields = {}): string =>
  createSiweMessage({
    domain: 'app.example.com',
    uri: `${APP}/login`,
    version: '1',
    chainId: SEPOLIA,
    statement: 'I accept the terms.',
    issuedAt: new Date(),
    address: getAddress(address),
    nonce,
    ...changes,
  })

const codesOf = ({ status, json }: { status: number; json: { code: string } }) => [status, json.code]
const FAILED = [401, 'login_failed']

const isUnused = async (nonce: string): Promise<boolean> =>
  (await sql`select from nonces where nonce = ${nonce}`).length === 1

describe('beginning', () => {
  test('answers the same for an unknown and a known wallet, in any spelling', async () => {
    const key = newKey()
    const before = await begin(key.address)
    expect(before.status).toBe(200)
    expect(before.json).toEqual({ user_id: expect.any(String), nonce: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const message = messageOf(key.address, before.json.nonce)
    const session = await prove({ message, signature: await key.signMessage({ message }) })
    expect(session.json.user_id).toBe(before.json.user_id)
    const after = await begin(key.address.toLowerCase())
    expect(after.json).toEqual({ user_id: before.json.user_id, nonce: expect.stringMatching(/^[0-9a-f]{32}$/) })
    expect(after.json.nonce).not.toBe(before.json.nonce)
    const shown = ({ headers }: { headers: Headers }) => [headers.get('content-length'), headers.get('cache-control')]
    expect(shown(after)).toEqual(shown(before))
    expect(shown(after)[1]).toBe('no-store')
  })

  test('recognises a Substrate account with any prefix', async () => {
    const { publicKey } = sr25519PairFromSeed(new Uint8Array(32).fill(9))
    const ids = []
    for (const prefix of [0, 2, 42, 137]) ids.push((await begin(encodeAddress(publicKey, prefix))).json.user_id)
    expect(new Set(ids).size).toBe(1)
  })

  test.each([
    ['0x70997970c51812dc3a010c7d01b50e0d17dc79C8', 'address_invalid'],
    ['0x70997970', 'address_invalid'],
    ['5GrwvaEF5zXb26Fz9rcQpDWS57CtERHpNehXCPcNoHGKutQZ', 'address_invalid'],
    ['alice.eth', 'address_invalid'],
    ['eip155:1:0x70997970C51812dc3A010C7d01b50e0d17dc79C8', 'invalid_input'],
    [`eip155:${SEPOLIA}:0x70997970c51812dc3a010c7d01b50e0d17dc79C8`, 'address_invalid'],
  ])('refuses %s', async (wallet, code) => {
    expect(codesOf(await begin(wallet))).toEqual([400, code])
  })

  longTest('is limited for each wallet', async () => {
    const { address } = newKey()
    for (let times = 0; times < 60; times += 1) expect((await begin(address)).status).toBe(200)
    const one = await begin(address.toLowerCase())
    expect(codesOf(one)).toEqual([429, 'rate_limited'])
    expect(Number(one.headers.get('retry-after'))).toBeGreaterThan(0)
  })

  longTest('is limited for each address', async () => {
    const from = asker()
    const statuses = []
    for (let times = 0; times < 31; times += 1) statuses.push((await begin(newKey().address, from)).status)
    expect(statuses).toEqual([...Array(30).fill(200), 429])
  })
})

describe('a key', () => {
  test('logs in, and the access token names it', async () => {
    const key = newKey()
    const message = messageOf(key.address, await nonceFor(key.address))
    const answer = await prove({ message, signature: await key.signMessage({ message }) })
    expect(answer.status).toBe(200)
    expect(decodeJwt(answer.json.access_token)).toMatchObject({ siwe_wallet_address: key.address })
    const [row] = await sql`select way from sessions where id = ${answer.json.id}`
    expect(row?.way).toBe('wallet')
  })

  test.each<[string, (signature: Hex) => string]>([
    ['with a recovery id of 0 or 1', (it) => `${it.slice(0, -2)}0${Number.parseInt(it.slice(-2), 16) - 27}`],
    ['in upper case', (it) => `0x${it.slice(2).toUpperCase()}`],
    [
      'in the compact form of EIP-2098',
      (it) => {
        const parity = BigInt(Number.parseInt(it.slice(-2), 16) - 27) << 255n
        return it.slice(0, 66) + (BigInt(`0x${it.slice(66, 130)}`) | parity).toString(16).padStart(64, '0')
      },
    ],
  ])('may sign %s', async (_, spelled) => {
    const key = newKey()
    const message = messageOf(key.address, await nonceFor(key.address))
    expect((await prove({ message, signature: spelled(await key.signMessage({ message })) })).status).toBe(200)
  })

  test('can sign for any of the four networks, with or without a node', async () => {
    const key = newKey()
    for (const chainId of [SEPOLIA, AMOY, BASE_SEPOLIA, 43_113]) {
      const message = messageOf(key.address, await nonceFor(key.address), { chainId })
      expect((await prove({ message, signature: await key.signMessage({ message }) })).status).toBe(200)
    }
  })

  const soon = (seconds: number) => new Date(Date.now() + seconds * 1_000)

  const WRONG: readonly [string, (address: Address, nonce: string) => string][] = [
    ['domain of a stranger', (a, n) => messageOf(a, n, { domain: 'evil.example', uri: 'https://evil.example' })],
    ['domain of a local page', (a, n) => messageOf(a, n, { domain: 'localhost:5000', uri: 'http://localhost:5000' })],
    ['domain other than the URI', (a, n) => messageOf(a, n, { domain: 'shop.example.com:8443' })],
    ['URI of another origin', (a, n) => messageOf(a, n, { uri: 'https://app.example.com.evil.example/' })],
    ['URI of another port', (a, n) => messageOf(a, n, { uri: 'https://app.example.com:444/' })],
    ['URI by plain HTTP', (a, n) => messageOf(a, n, { uri: 'http://app.example.com/' })],
    ['another scheme', (a, n) => messageOf(a, n, { scheme: 'http' })],
    ['version 2', (a, n) => messageOf(a, n).replace('Version: 1', 'Version: 2')],
    ["mainnet's chain id", (a, n) => messageOf(a, n, { chainId: 1 })],
    ['chain id of nobody', (a, n) => messageOf(a, n, { chainId: 31_337 })],
    ['address without its checksum', (a, n) => messageOf(a, n).replace(a, a.toLowerCase())],
    ['a nonce that we did not give', (a) => messageOf(a, '0123456789abcdef')],
    ['a nonce in another case', (a, n) => messageOf(a, `${n.toUpperCase()}A`.slice(0, 32))],
    ['written too early', (a, n) => messageOf(a, n, { issuedAt: soon(-70) })],
    ['written in the future', (a, n) => messageOf(a, n, { issuedAt: soon(70) })],
    ['expired', (a, n) => messageOf(a, n, { expirationTime: soon(-1) })],
    ['not valid yet', (a, n) => messageOf(a, n, { notBefore: soon(30) })],
    ['a field twice', (a, n) => messageOf(a, n).replace('Chain ID', 'Version: 1\nChain ID')],
    ['carriage returns', (a, n) => messageOf(a, n).replaceAll('\n', '\r\n')],
    ['a text of no form', (a, n) => `${a} ${n}`],
  ]

  test.each(someOf(WRONG, 3))('is refused: %s, and its nonce stays', async (_, build) => {
    const key = newKey()
    const nonce = await nonceFor(key.address)
    const message = build(key.address, nonce)
    expect(codesOf(await prove({ message, signature: await key.signMessage({ message }) }))).toEqual(FAILED)
    const right = messageOf(key.address, nonce)
    expect((await prove({ message: right, signature: await key.signMessage({ message: right }) })).status).toBe(200)
  })

  test.each([1, 31_337])('gets an error that lists the right chains for a message for chain %d', async (chainId) => {
    const key = newKey()
    const message = messageOf(key.address, await nonceFor(key.address), { chainId })
    const answer = await prove({ message, signature: await key.signMessage({ message }) })
    expect([answer.status, answer.json]).toEqual([
      401,
      {
        error: `The message is for the chain with id ${chainId}, but must be for 11155111 (Ethereum), 80002 (Polygon), 84532 (Base), 43113 (Avalanche).`,
        code: 'login_failed',
      },
    ])
  })

  const WRONG_SIGNATURES: readonly [string, (signature: Hex, message: string) => string | Promise<string>][] = [
    ["another key's", (_, message) => newKey().signMessage({ message })],
    [
      'the twin with the high s',
      (it) => {
        const s = (N - BigInt(`0x${it.slice(66, 130)}`)).toString(16).padStart(64, '0')
        return `${it.slice(0, 66)}${s}${it.endsWith('1b') ? '1c' : '1b'}`
      },
    ],
    ['with the other recovery id', (it) => `${it.slice(0, -2)}${it.endsWith('1b') ? '1c' : '1b'}`],
    ['with a recovery id of 2', (it) => `${it.slice(0, -2)}1d`],
    ['one byte longer', (it) => `${it}00`],
    ['two bytes shorter', (it) => it.slice(0, -4)],
    ['of nothing', () => `0x${'00'.repeat(65)}`],
    ['of all bits', () => `0x${'ff'.repeat(65)}`],
    [
      'wrapped as for a contract',
      (signature) => serializeErc6492Signature({ address: zeroAddress, data: '0x', signature }),
    ],
  ]
  test.each(someOf(WRONG_SIGNATURES, 2))('is refused: a signature %s', async (_, changed) => {
    const key = newKey()
    const nonce = await nonceFor(key.address)
    const message = messageOf(key.address, nonce)
    const signature = await changed(await key.signMessage({ message }), message)
    expect(codesOf(await prove({ message, signature }))).toEqual(FAILED)
    expect(await isUnused(nonce)).toBe(true)
  })

  test('is refused if the message was changed after it was signed', async () => {
    const key = newKey()
    const message = messageOf(key.address, await nonceFor(key.address))
    const signature = await key.signMessage({ message })
    expect(codesOf(await prove({ message: message.replace('terms', 'term5'), signature }))).toEqual(FAILED)
    expect((await prove({ message, signature })).status).toBe(200)
  })

  test('signs for the calling page only; without an origin, for any page of the project', async () => {
    const key = newKey()
    const from = async (domain: Fields, origin: string | undefined) => {
      const message = messageOf(key.address, await nonceFor(key.address), domain)
      return (await prove({ message, signature: await key.signMessage({ message }) }, { origin })).status
    }
    const shop = { domain: 'shop.example.com:8443', uri: SHOP }
    expect([await from(shop, APP), await from({}, APP), await from(shop, SHOP), await from(shop, undefined)]).toEqual([
      401, 200, 200, 200,
    ])
    const own = { domain: 'localhost:3000', uri: 'http://localhost:3000/login' }
    expect(await from(own, 'http://localhost:3000')).toBe(200)
  })

  test('is refused for another user than the named one, and the nonce is not used up', async () => {
    const key = newKey()
    const [mine, other] = [(await begin(key.address)).json, (await begin(newKey().address)).json]
    const message = messageOf(key.address, mine.nonce)
    const signature = await key.signMessage({ message })
    expect(codesOf(await prove({ message, signature, userId: other.user_id }))).toEqual(FAILED)
    expect((await prove({ message, signature, userId: mine.user_id })).status).toBe(200)
  })
})

describe('a nonce', () => {
  const signed = async (nonce: string, key = newKey()): Promise<Proof> => {
    const message = messageOf(key.address, nonce)
    return { message, signature: await key.signMessage({ message }) }
  }

  test('works once', async () => {
    const key = newKey()
    const proof = await signed(await nonceFor(key.address), key)
    expect((await prove(proof)).status).toBe(200)
    expect(codesOf(await prove(proof))).toEqual(FAILED)
  })

  test('works once for simultaneous requests', async () => {
    const key = newKey()
    const proof = await signed(await nonceFor(key.address), key)
    const statuses = (await Promise.all(Array.from({ length: 6 }, () => prove(proof)))).map(({ status }) => status)
    expect(statuses.sort()).toEqual([200, 401, 401, 401, 401, 401])
  })

  test('of another wallet is refused', async () => {
    const nonce = await nonceFor(newKey().address)
    expect(codesOf(await prove(await signed(nonce)))).toEqual(FAILED)
    expect(await isUnused(nonce)).toBe(true)
  })

  test('of another wallet is refused before any node is called', async () => {
    const [key, nonce] = [newKey(), await nonceFor(newKey().address)]
    // A contract may have signed, so a check would call Polygon's node, which is out of reach.
    const message = messageOf(key.address, nonce, { chainId: AMOY })
    expect(codesOf(await prove({ message, signature: '0x00' }))).toEqual(FAILED)
  })

  test('for a contract is refused for the key with the same address', async () => {
    const key = newKey()
    const proof = await signed(await nonceFor(`eip155:${SEPOLIA}:${key.address}`), key)
    expect(codesOf(await prove(proof))).toEqual(FAILED)
  })

  test('of another project is refused', async () => {
    const other = await createProject(service.ctx, { name: 'Other', actor: 'operator' })
    const key = newKey()
    const proof = await signed(await nonceFor(key.address), key)
    await addOrigins(service.ctx, { projectId: other.projectId, origins: [APP] })
    expect(codesOf(await prove(proof, { 'x-walletkit-project-id': other.projectId }))).toEqual(FAILED)
    expect((await prove(proof)).status).toBe(200)
  })

  test('expires after five minutes', async () => {
    const key = newKey()
    const nonce = await nonceFor(key.address)
    const [row] =
      await sql`select extract(epoch from expires_at - created_at)::int as seconds from nonces where nonce = ${nonce}`
    expect(row?.seconds).toBe(300)
    await sql`update nonces set expires_at = now() where nonce = ${nonce}`
    expect(codesOf(await prove(await signed(nonce, key)))).toEqual(FAILED)
  })
})

const canonical = (deployment: ReturnType<typeof getProxyFactoryDeployment>): Address =>
  getAddress(deployment?.deployments.canonical?.address ?? '')
const SAFE = parseAbi([
  'function setup(address[] owners, uint256 threshold, address to, bytes data, address fallbackHandler, address paymentToken, uint256 payment, address paymentReceiver)',
])
const FACTORY = parseAbi([
  'function createProxyWithNonce(address singleton, bytes initializer, uint256 saltNonce) returns (address)',
])
/**
 * Code of contracts. The first answers every call with the yes of ERC-1271, the second spends all gas, the third
 * returns nothing.
 */
const SAYS_YES: Hex = `0x7f1626ba7e${'00'.repeat(28)}5f5260205ff3`
const NEVER_ENDS: Hex = '0x5b5f56'
const STOPS: Hex = '0x00'

describe('a contract', () => {
  const owner = newKey()
  let safe: Address
  let factory: Address
  let creation: Hex

  beforeAll(async () => {
    factory = canonical(getProxyFactoryDeployment({ version: '1.4.1' }))
    const handler = canonical(getCompatibilityFallbackHandlerDeployment({ version: '1.4.1' }))
    const initializer = encodeFunctionData({
      abi: SAFE,
      functionName: 'setup',
      args: [[owner.address], 1n, zeroAddress, '0x', handler, zeroAddress, 0n, zeroAddress],
    })
    const call = {
      abi: FACTORY,
      functionName: 'createProxyWithNonce',
      args: [canonical(getSafeL2SingletonDeployment({ version: '1.4.1' })), initializer, 0n],
    } as const
    creation = encodeFunctionData(call)
    safe = (await chain.publicClient.simulateContract({ address: factory, ...call })).result
  })

  const signAsSafe = (message: string, key = owner): Promise<Hex> =>
    key.signTypedData({
      domain: { chainId: SEPOLIA, verifyingContract: safe },
      types: { SafeMessage: [{ name: 'message', type: 'bytes' }] },
      primaryType: 'SafeMessage',
      message: { message: hashMessage(message) },
    })
  const wrapped = (signature: Hex, data = creation) => serializeErc6492Signature({ address: factory, data, signature })
  const named = (chainId = SEPOLIA, address = safe) => `eip155:${chainId}:${address}`

  let user: string

  test('that is not deployed yet logs in with a wrapped signature (ERC-6492), without being deployed', async () => {
    const { nonce, user_id: userId } = (await begin(named())).json
    const message = messageOf(safe, nonce)
    const signature = await signAsSafe(message)
    expect(codesOf(await prove({ message, signature }))).toEqual(FAILED)
    expect(codesOf(await prove({ message, signature: wrapped(await signAsSafe(message, newKey())) }))).toEqual(FAILED)
    expect(codesOf(await prove({ message, signature: wrapped(signature, '0x1234') }))).toEqual(FAILED)
    expect(codesOf(await prove({ message, signature: wrapped('0x') }))).toEqual(FAILED)
    const garbage = `0x${'ab'.repeat(100)}${'6492'.repeat(16)}`
    expect(codesOf(await prove({ message, signature: garbage }))).toEqual(FAILED)
    const answer = await prove({ message, signature: wrapped(signature), userId })
    expect(answer.status).toBe(200)
    expect(decodeJwt(answer.json.access_token)).toMatchObject({ sub: userId, siwe_wallet_address: named() })
    expect(await chain.publicClient.getCode({ address: safe })).toBeUndefined()
    user = userId
  })

  test('that is deployed logs in by ERC-1271, as the same user', async () => {
    await chain.send({ to: factory, data: creation })
    const message = messageOf(safe, await nonceFor(safe))
    expect(codesOf(await prove({ message, signature: await signAsSafe(message, newKey()) }))).toEqual(FAILED)
    expect(codesOf(await prove({ message, signature: await owner.signMessage({ message }) }))).toEqual(FAILED)
    const answer = await prove({ message, signature: await signAsSafe(message) })
    expect([answer.status, answer.json.user_id]).toEqual([200, user])
    const again = messageOf(safe, await nonceFor(safe))
    expect((await prove({ message: again, signature: wrapped(await signAsSafe(again)) })).json.user_id).toBe(user)
  })

  test('and a key with the same address are different users', async () => {
    const victim = newKey()
    const first = messageOf(victim.address, await nonceFor(victim.address))
    const victims = (await prove({ message: first, signature: await victim.signMessage({ message: first }) })).json
    await chain.testClient.setCode({ address: victim.address, bytecode: SAYS_YES })
    const { nonce, user_id: named } = (await begin(victim.address)).json
    expect(named).toBe(victims.user_id)
    const message = messageOf(victim.address, nonce)
    expect(codesOf(await prove({ message, signature: '0x00', userId: named }))).toEqual(FAILED)
    const attacker = await prove({ message, signature: '0x00' })
    expect(attacker.status).toBe(200)
    expect(attacker.json.user_id).not.toBe(victims.user_id)
    const again = messageOf(victim.address, await nonceFor(victim.address))
    const back = await prove({ message: again, signature: await victim.signMessage({ message: again }) })
    expect(back.json.user_id).toBe(victims.user_id)
  })

  test('is another user on another chain, and is called only on the chain that the message names', async () => {
    const [here, there] = [(await begin(named())).json, (await begin(named(BASE_SEPOLIA))).json]
    expect(there.user_id).not.toBe(here.user_id)
    // The nonce is for the contract on Base, but the Safe's message is for Ethereum.
    const message = messageOf(safe, there.nonce)
    const refused = await prove({ message, signature: await signAsSafe(message) })
    expect(codesOf(refused)).toEqual(FAILED)
    expect(refused.json.error).toBe(
      'The message is for the chain with id 11155111, but must be for 84532, the chain of the contract.',
    )
    // Base has no node here, so the contract there cannot be checked.
    const onBase = messageOf(safe, there.nonce, { chainId: BASE_SEPOLIA })
    expect(codesOf(await prove({ message: onBase, signature: await signAsSafe(onBase) }))).toEqual(FAILED)
  })

  test.each([
    ['spends all gas', NEVER_ENDS],
    ['answers nothing', STOPS],
  ])('that %s is refused', async (_, bytecode) => {
    const { address } = newKey()
    await chain.testClient.setCode({ address, bytecode })
    const message = messageOf(address, await nonceFor(address))
    expect(codesOf(await prove({ message, signature: '0x00' }))).toEqual(FAILED)
  })

  test('whose node is out of reach gets 503, and the nonce is not used up', async () => {
    const key = newKey()
    const nonce = await nonceFor(key.address)
    const message = messageOf(key.address, nonce, { chainId: AMOY })
    const answer = await prove({ message, signature: await newKey().signMessage({ message }) })
    expect(codesOf(answer)).toEqual([503, 'node_unavailable'])
    expect((await prove({ message, signature: await key.signMessage({ message }) })).status).toBe(200)
  })
})

describe('a Substrate account', () => {
  type Pair = ReturnType<typeof sr25519PairFromSeed>
  const newPair = (): Pair => sr25519PairFromSeed(randomBytes(32))
  const sign = (text: string, pair: Pair) => `0x${Buffer.from(sr25519Sign(text, pair)).toString('hex')}`
  const addressOf = ({ publicKey }: Pair, prefix: number) => encodeAddress(publicKey, prefix)
  const textOf = (address: string, nonce: string) =>
    [
      'app.example.com wants you to sign in with your Substrate account:',
      address,
      '',
      'I accept the terms.',
      '',
      `URI: ${APP}/login`,
      'Version: 1.0.0',
      'Chain ID: polkadot:91b171bb158e2d3848fa23a9f1c25182',
      `Nonce: ${nonce}`,
      `Issued At: ${new Date().toISOString()}`,
    ].join('\n')

  test('logs in as one user with any prefix, and with or without the wrapping of wallets', async () => {
    const pair = newPair()
    const users = []
    for (const [prefix, spelled] of [
      [0, (text: string) => sign(`<Bytes>${text}</Bytes>`, pair)],
      [42, (text: string) => sign(text, pair)],
      [137, (text: string) => `0x01${sign(`<Bytes>${text}</Bytes>`, pair).slice(2)}`],
    ] as const) {
      const message = textOf(addressOf(pair, prefix), await nonceFor(addressOf(pair, 0)))
      const answer = await prove({ message, signature: spelled(message) })
      expect(answer.status).toBe(200)
      expect(decodeJwt(answer.json.access_token)).toMatchObject({ siwe_wallet_address: addressOf(pair, 0) })
      users.push(answer.json.user_id)
    }
    expect(new Set(users).size).toBe(1)
  })

  const WRONG: readonly [string, (text: string, pair: Pair) => { message: string; signature: string }][] = [
    ['signed by another key', (message) => ({ message, signature: sign(message, newPair()) })],
    [
      'changed after signing',
      (message, pair) => ({ message: message.replace('terms', 'term5'), signature: sign(message, pair) }),
    ],
    ['tagged as ed25519', (message, pair) => ({ message, signature: `0x00${sign(message, pair).slice(2)}` })],
    ['cut short', (message, pair) => ({ message, signature: sign(message, pair).slice(0, -2) })],
    ['of nothing', (message) => ({ message, signature: `0x${'00'.repeat(64)}` })],
    [
      "for a stranger's page",
      (text, pair) => {
        const message = text.replaceAll('app.example.com', 'evil.example')
        return { message, signature: sign(message, pair) }
      },
    ],
    [
      'of another account than the nonce',
      (text, pair) => {
        const other = newPair()
        const message = text.replace(addressOf(pair, 42), addressOf(other, 42))
        return { message, signature: sign(message, other) }
      },
    ],
    [
      'with a wrong checksum',
      (text, pair) => {
        const message = text.replace(addressOf(pair, 42), (it) => `${it.slice(0, -1)}${it.endsWith('a') ? 'b' : 'a'}`)
        return { message, signature: sign(message, pair) }
      },
    ],
  ]
  test.each(someOf(WRONG, 2))('is refused: %s, and its nonce stays', async (_, build) => {
    const pair = newPair()
    const message = textOf(addressOf(pair, 42), await nonceFor(addressOf(pair, 42)))
    expect(codesOf(await prove(build(message, pair)))).toEqual(FAILED)
    expect((await prove({ message, signature: sign(message, pair) })).status).toBe(200)
  })
})

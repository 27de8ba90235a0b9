// The vault at its sockets: every method answers there as it does in process, and an opened key stays on its
// connection.

import { afterEach, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { createConnection } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { secp256k1 } from '@noble/curves/secp256k1.js'
import { verify as verifySr25519 } from '@scure/sr25519'
import { privateKeyToAccount } from 'viem/accounts'
import { insertProject } from '../../db/queries/projects.ts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { createVaultAudit } from '../../src/platform/audit/audit.ts'
import { connectOperatorVault, connectVault, operatorSocketOf } from '../../src/vault/client/remote-vault.ts'
import { onlySignature } from '../../src/vault/contract/contract.ts'
import { OPERATOR_METHODS } from '../../src/vault/contract/methods.ts'
import type { OpenKey, OperatorVault } from '../../src/vault/contract/vault.ts'
import { traceSignature } from '../../src/vault/rooms/keys/facts.ts'
import { bytesToSign } from '../../src/vault/rooms/keys/payloads.ts'
import { serveVault } from '../../src/vault/rooms/serve-vault.ts'
import { messageSigner, signerOnce, withKey } from '../support/keys.ts'
import { isLong, longTest } from '../support/long.ts'
import { afterTests, shared } from '../support/shared.ts'
import {
  ACTOR,
  EVM_DIGEST,
  EVM_PAYLOAD,
  NOW,
  openWorld,
  SECRET,
  SUBSTRATE_BYTES,
  SUBSTRATE_PAYLOAD,
  signOne,
  signOneBy,
  TEST_DEPLOYMENT_KEY,
  textOf,
} from './support.ts'
import { frameOf } from './wire-support.ts'

const pin = { userPin: '493817' }
const secret = { developerSecret: SECRET }
const both = { ...secret, ...pin }
const VERIFY = { prehash: false, lowS: true }

const endings: (() => unknown)[] = []

const world = await shared(openWorld())
const { sql } = world
const folder = await mkdtemp(join(tmpdir(), 'vault-'))
afterTests(() => rm(folder, { recursive: true, force: true }))
const projectId = await world.project()
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const startVault = async (vault: OperatorVault = world.vault) => {
  const path = join(folder, randomUUID().slice(0, 8), 'vault.sock')
  const audit = createVaultAudit({ db: world.db, deploymentKey: TEST_DEPLOYMENT_KEY, now: () => NOW })
  const errors: object[] = []
  const warn = ({ why, client }: { why?: string; client?: string }) => refusals.push(`${client}: ${why}`)
  const log = { warn, error: (facts: object) => errors.push(facts) }
  const listener = await serveVault({ vault, audit, log, path, users: null, tls: null, now: () => NOW })
  endings.push(() => listener.stop({ graceMs: 0 }))
  return { path, errors }
}

const connected = <Remote extends { readonly close: () => void }>(remote: Remote): Remote => {
  endings.push(remote.close)
  return remote
}
const asApi = (path: string) => connected(connectVault({ sockets: [path], name: 'api', onChange: () => {} }))
const asOperator = (path: string) =>
  connected(connectOperatorVault({ sockets: [operatorSocketOf(path)], name: 'operator', onChange: () => {} }))

const newWallet = (input: { readonly mode?: 'developer' | 'user'; readonly network?: string } = {}) => {
  const { mode = 'developer', network = 'Ethereum' } = input
  const credentials = mode === 'developer' ? secret : pin
  return world.wallet({ projectId, ownerId: randomUUID(), controlMode: mode, credentials, network })
}
const request = (wallet: WalletRow, credentials: object = secret) => ({ wallet, credentials, actor: ACTOR })

/** As the log tells them. */
const refusals: string[] = []
/** The reason of the next refused connection after those that a test has seen. */
const nextRefusal = async (seen: number): Promise<string> => {
  for (;;) {
    const next = refusals[seen]
    if (next !== undefined) return next
    await Bun.sleep(5)
  }
}

describe('over its sockets', () => {
  longTest('a recovery code and a passkey are made, open a key, set a new PIN and are removed', async () => {
    const { path, errors } = await startVault()
    const vault = asApi(path)
    const wallet = await newWallet({ mode: 'user' })
    const { recoveryCode } = await vault.newRecoveryCode(request(wallet, pin))
    const code = { userSecret: textOf(recoveryCode) }
    const passkeySecret = Buffer.from(Array.from({ length: 32 }, (_, at) => at)).toString('base64url')
    await vault.addPasskeySecret({ ...request(wallet, code), passkeyId: 'key-1', passkeySecret })
    const { projectId: of, ownerId } = wallet
    const secrets = await vault.userSecrets({ projectId: of, ownerId })
    expect(secrets.map(({ kind, passkeyId }) => [kind, passkeyId])).toEqual([
      ['passkey', 'key-1'],
      ['recovery_code', ''],
    ])
    await vault.changeUserPin({ wallet, ...code, newPin: '271828', actor: ACTOR })
    const signature = await withKey(vault, request(wallet, { userPin: '271828' }), (key) => signOne(key))
    for (const credentials of [code, { userSecret: passkeySecret }]) {
      expect(await withKey(vault, request(wallet, credentials), (key) => signOne(key))).toEqual(signature)
      expect(await signOne(signerOnce(vault, request(wallet, credentials)))).toEqual(signature)
    }
    await vault.removeUserSecret({ ...request(wallet, code), kind: 'passkey', passkeyId: 'key-1' })
    const removed = { userSecret: passkeySecret }
    await expect(withKey(vault, request(wallet, removed), (key) => signOne(key))).rejects.toThrow('credential is wrong')
    const mistyped = { userSecret: code.userSecret.slice(1) }
    await expect(vault.newRecoveryCode(request(wallet, mistyped))).rejects.toThrow('typing error')
    expect(errors).toEqual([])
  })

  test('wallets are made, and sign, in both families', async () => {
    const { path } = await startVault()
    const vault = asOperator(path)
    for (const network of isLong ? ['Ethereum', 'Polkadot'] : ['Polkadot']) {
      const of = { projectId, ownerId: randomUUID(), network, controlMode: 'user' as const }
      const wallet = await world.wallet({ ...of, credentials: { ...pin, from: '10.0.0.1' }, vault })
      const payload = network === 'Ethereum' ? EVM_PAYLOAD : SUBSTRATE_PAYLOAD
      const signature = await withKey(vault, request(wallet, pin), (key) => signOne(key, payload))
      const isRight =
        network === 'Ethereum'
          ? secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, wallet.publicKey, VERIFY)
          : verifySr25519(SUBSTRATE_BYTES, signature, wallet.publicKey)
      expect(isRight).toBe(true)
      const exported = await vault.exportKeyring(request(wallet, pin))
      expect(exported).toEqual(await world.vault.exportKeyring(request(wallet, pin)))
      const [row] = await sql`
        select count(*)::int as many from audit where subject = ${wallet.id} and action = 'message_signed'`
      expect(row?.many).toBe(1)
    }
  })

  test('a wallet that is made again by its id is the same', async () => {
    const { path } = await startVault()
    const vault = asApi(path)
    const of = { projectId, ownerId: randomUUID(), network: 'Ethereum', controlMode: 'developer' } as const
    const input = {
      ...of,
      walletId: randomUUID(),
      family: 'evm',
      type: 'eoa',
      credentials: secret,
      actor: ACTOR,
    } as const
    const made = await vault.newWallet(input)
    expect(made.keyUsedSince).toBe('now')
    expect(await vault.newWallet(input)).toEqual({ ...made, keyUsedSince: expect.any(Date) })
  })

  test('imports, changes of credentials and the status answer as in process', async () => {
    const { path } = await startVault()
    const vault = asOperator(path)
    const privateKey = `0x${'11'.repeat(32)}` as const
    const made = await vault.newWallet({
      ...{ projectId, ownerId: randomUUID(), walletId: randomUUID(), network: 'Ethereum', controlMode: 'developer' },
      ...{ family: 'evm', type: 'eoa', imported: { privateKey }, credentials: secret, actor: ACTOR },
    })
    expect(made.address).toBe(privateKeyToAccount(privateKey).address)
    const wallet = await newWallet({ mode: 'user' })
    await vault.changeUserPin({ wallet, oldPin: pin.userPin, newPin: '927461', actor: ACTOR })
    const signature = await withKey(vault, request(wallet, { userPin: '927461' }), signOne)
    expect(secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, wallet.publicKey, VERIFY)).toBe(true)
    expect(await vault.status()).toEqual(await world.vault.status())
    await expect(
      vault.changeDeveloperSecret({ projectId, oldSecret: SECRET, newSecret: 'short', actor: ACTOR }),
    ).rejects.toMatchObject({ code: 'invalid_input' })
  })

  test('policies are made, read, charged and revoked', async () => {
    const { path } = await startVault()
    const vault = asApi(path)
    const wallet = await newWallet({ mode: 'user' })
    const terms = {
      ...{ id: randomUUID(), network: wallet.network, expiresAt: new Date(Date.now() + 3_600_000) },
      argumentRules: [{ argument: 'to', operator: 'eq' as const, value: `0x${'ab'.repeat(20)}` }],
      ...{ maxTotalValue: (1n << 256n) - 1n, maxUses: 3, maxTotalFee: 1_000n, requireApproval: null },
      tokenLimits: [{ contractAddress: `0x${'22'.repeat(20)}`, maxTotal: '5', perSeconds: null }],
      rollingLimits: [{ perSeconds: 86_400, maxTotalValue: '5', maxUses: 1 }],
    }
    const made = await vault.newPolicy({ ...request(wallet, both), terms, name: 'Rent' })
    const room = { id: terms.id, walletId: wallet.id }
    expect(made).toEqual((await world.vault.policyRoom(room)).made as typeof made)
    // What the vault answered may be given back, although it has more fields.
    const [unrevoked] = await vault.unrevokedPolicies({ walletId: wallet.id, limit: 5 })
    if (unrevoked === undefined) throw new Error('the policy is not listed')
    {
      using key = await vault.openKeyByPolicy({ ...request(wallet), terms: unrevoked })
      const signature = await signOneBy(key, { value: 5n, fee: 7n })
      expect(secp256k1.verify(signature.subarray(0, 64), EVM_DIGEST, wallet.publicKey, VERIFY)).toBe(true)
    }
    const opened = { ...request(wallet), limit: 5 }
    using policies = await vault.openPolicies(opened)
    using same = await world.vault.openPolicies(opened)
    const readAt = expect.any(Date)
    expect(policies.policies).toEqual(same.policies.map((policy) => ({ ...policy, readAt })))
    const spends = { value: 0n, fee: 0n }
    const use = { action: 'transaction_signed', details: {}, payloads: [EVM_PAYLOAD] } as const
    // Its second use in a day.
    const second = policies.sign({ policyId: terms.id, spends }, use)
    await expect(second).rejects.toMatchObject({ code: 'policy_denied', event: null })
    expect(await vault.policyRoom(room)).toEqual(await world.vault.policyRoom(room))
    const slot = expect.any(Number)
    expect(await vault.unrevokedPolicies({ walletId: wallet.id, limit: 5 })).toEqual([
      {
        ...{ ...unrevoked, uses: 1, spentValue: 5n, readAt: expect.any(Date) },
        limitCounts: [[], [[slot, '5']], [[slot, '1']]],
      },
    ])
    expect(await vault.findWalletOfPolicy({ projectId, ownedBy: null, id: terms.id })).toBe(wallet.id)
    const filter = { id: terms.id, network: wallet.network, walletId: wallet.id, controlMode: wallet.controlMode }
    const list = { projectId, ownedBy: null, ...filter, limit: 9, offset: 0 }
    expect(await vault.listPolicies(list)).toEqual(await world.vault.listPolicies(list))
    expect(await vault.listPolicies({ ...list, network: null, walletId: null, controlMode: null })).toHaveLength(1)
    const other = wallet.controlMode === 'user' ? 'developer' : 'user'
    expect(await vault.listPolicies({ ...list, controlMode: other })).toEqual([])
    expect(await vault.listPolicies({ ...list, id: crypto.randomUUID() })).toEqual([])
    await vault.revokePolicy({ ...request(wallet), policyId: terms.id })
    expect(await vault.unrevokedPolicies({ walletId: wallet.id, limit: 5 })).toEqual([])
    const used = vault.openKeyByPolicy({ ...request(wallet), terms })
    await expect(used).rejects.toMatchObject({ code: 'policy_denied', event: null })
  })

  test('typed data, Safe messages and extrinsics are signed as in process', async () => {
    const { path } = await startVault()
    const vault = asOperator(path)
    const evm = await newWallet()
    const substrate = await newWallet({ network: 'Polkadot' })
    const typedData = {
      domain: { name: 'A', version: '1', chainId: 11_155_111n, verifyingContract: `0x${'22'.repeat(20)}` },
      types: {
        Mail: [
          { name: 'text', type: 'string' },
          { name: 'many', type: 'uint256[]' },
        ],
      },
      primaryType: 'Mail',
      message: { text: `\ufeff${'long '.repeat(100)}`, many: [1n, 2n ** 255n, '3', 4] },
    }
    const part = new Uint8Array([1, 2, 3])
    const bytes = { call: part, extra: part, implicit: part, addressPrefix: part, signaturePrefix: part }
    const uses = [
      [evm, { kind: 'typed_data', typedData }],
      [evm, { kind: 'safe_typed_data', chainId: 1, safe: `0x${'33'.repeat(20)}`, typedData }],
      [evm, { kind: 'safe_message', chainId: 1, safe: `0x${'33'.repeat(20)}`, message: part }],
      [substrate, { kind: 'extrinsic', ...bytes }],
    ] as const
    for (const [wallet, payload] of uses) {
      const { publicKey } = wallet
      const bytes = bytesToSign(wallet === evm ? 'evm' : 'substrate', payload)
      for (const of of [vault, world.vault]) {
        const signer = payload.kind === 'extrinsic' ? signerOnce : messageSigner
        const use = { action: 'message_signed', details: { a: 'b' }, payloads: [payload] } as const
        const signature = onlySignature(await signer(of, request(wallet)).sign(use))
        const [row] = await sql`select details from audit where subject = ${wallet.id} order by id desc limit 1`
        expect(row?.details).toMatchObject({
          a: 'b',
          hash: traceSignature({ payload, bytes, signature, publicKey }).hash,
        })
      }
    }
  })

  test('typed data for another chain is not signed, and the refusal names the field', async () => {
    const { path } = await startVault()
    const wallet = await newWallet()
    const typedData = { domain: { chainId: 1 }, types: { Mail: [] }, primaryType: 'Mail', message: {} }
    const safe = `0x${'33'.repeat(20)}`
    const payloads = [
      { kind: 'typed_data', typedData },
      { kind: 'safe_typed_data', chainId: 11_155_111, safe, typedData },
    ] as const
    for (const payload of payloads) {
      for (const of of [asOperator(path), world.vault]) {
        const use = { action: 'message_signed', details: {}, payloads: [payload] } as const
        await expect(messageSigner(of, request(wallet)).sign(use)).rejects.toMatchObject({
          code: 'invalid_input',
          message: expect.stringContaining('"typed_data.domain.chainId" must be 11155111'),
        })
      }
    }
  })

  test("a caller's details of an extrinsic are marked in the audit as its statements", async () => {
    const { path } = await startVault()
    const wallet = await newWallet({ network: 'Polkadot' })
    const part = new Uint8Array([1, 2, 3])
    const bytes = { call: part, extra: part, implicit: part, addressPrefix: part, signaturePrefix: part }
    const lies = { network: 'Vara', hash: '0x', signed_bytes_hashes: '0x', policy: 'none', further_hashes: '0x' }
    const details = { to: '5F', value: '7', nonce: '1', valid_until_block: '9', ...lies }
    const use = { action: 'transaction_signed', details, payloads: [{ kind: 'extrinsic', ...bytes }] } as const
    await signerOnce(asOperator(path), request(wallet)).sign(use)
    const [row] = await sql`select details from audit where subject = ${wallet.id} order by id desc limit 1`
    const hash = expect.stringMatching(/^0x[0-9a-f]{64}$/)
    const said = { said_to: '5F', said_value: '7', said_nonce: '1', valid_until_block: '9' }
    expect(row?.details).toEqual({ network: 'Polkadot', ...said, hash, signed_bytes_hashes: hash })
  })

  test('a refusal has the code and the security event that it has in process', async () => {
    const { path, errors } = await startVault()
    const wallet = await newWallet({ mode: 'user' })
    await expect(asApi(path).openKey(request(wallet, { userPin: '000001' }))).rejects.toMatchObject({
      ...{ name: 'AppError', code: 'INVALID_SECRET' },
      event: { kind: 'wrong_pin', projectId, actor: ACTOR },
    })
    expect(errors).toEqual([])
  })

  test('an operator rotates keys, and is told how far it is', async () => {
    const { path } = await startVault()
    const vault = asOperator(path)
    const id = randomUUID()
    await insertProject(world.api, { id, name: 'New', activatedAt: null })
    await vault.newProject({ projectId: id, developerSecret: null, actor: 'operator' })
    const told: unknown[] = []
    const rotated = await vault.rotateProjectKey({ projectId: id, actor: 'operator', resume: false }, (at) =>
      told.push(at),
    )
    expect(rotated).toEqual({ version: 2, resealed: 1, broken: { rows: 0, first: [] } })
    expect(told).toEqual([{ done: 1, total: 1 }])
    expect(await vault.forgedRows({ projectId: id })).toEqual({ forged: [], unfinished: [] })
    await expect(vault.unlockOwner({ projectId: id, ownerId: 'a', actor: 'operator' })).rejects.toMatchObject({
      code: 'not_found',
    })
  })
})

describe('who controls an API', () => {
  test('can ask nothing that only an operator may, and cannot open the operator’s socket', async () => {
    const { path } = await startVault()
    expect((await stat(path)).mode & 0o777).toBe(0o660)
    expect((await stat(operatorSocketOf(path))).mode & 0o777).toBe(0o600)
    for (const name of Object.keys(OPERATOR_METHODS)) {
      const seen = refusals.length
      // One vault logs ten refusals for the same reason within half a minute.
      const socket = createConnection((await startVault()).path)
      socket.write(Buffer.concat([frameOf({ protocol: 1, name: 'thief' }), frameOf([1, name, {}])]))
      expect(await nextRefusal(seen)).toBe('thief: a method is unknown')
      socket.destroy()
    }
  })

  const misuses: readonly (readonly [string, string, (key: OpenKey) => Promise<unknown>])[] = [
    [
      'a third time',
      'api: a key was used too often',
      async (key) => {
        await signOne(key)
        await signOne(key)
        await signOne(key)
      },
    ],
    [
      'after it was closed',
      'api: a key is not open on this connection',
      async (key) => {
        key[Symbol.dispose]()
        await signOne(key)
      },
    ],
  ]

  // taken-api.test.ts has a key that is used a third time.
  test.each(isLong ? misuses : misuses.slice(1))(
    'who uses a key %s loses the connection, and only that',
    async (_, why, act) => {
      const { path } = await startVault()
      const other = asApi(path)
      const wallet = await newWallet()
      using kept = await other.openKey(request(wallet))
      const vault = asApi(path)
      const seen = refusals.length
      const key = await vault.openKey(request(wallet))
      await expect(act(key)).rejects.toMatchObject({ code: 'unavailable' })
      expect(await nextRefusal(seen)).toBe(why)
      await signOne(kept)
      using again = await vault.openKey(request(wallet))
      await signOne(again)
      expect(refusals.length).toBe(seen + 1)
    },
  )

  test.each(['value', 'fee'])(
    'who names a negative %s, to give back what a policy has spent, loses the connection',
    async (of) => {
      const { path } = await startVault()
      const seen = refusals.length
      const socket = createConnection(path)
      const input = { handle: 1, spends: { value: 0n, fee: 0n, [of]: -1n }, uses: [] }
      socket.write(Buffer.concat([frameOf({ protocol: 1, name: 'thief' }), frameOf([1, 'signByPolicy', input])]))
      expect(await nextRefusal(seen)).toBe('thief: an input of signByPolicy is not as it should be')
      socket.destroy()
    },
  )

  test('a key that is used after its time ends that call, and no other of the connection', async () => {
    const { path, errors } = await startVault(await world.another({ keyLifetimeMs: 0 }))
    const vault = asApi(path)
    const wallet = await newWallet()
    const terms = {
      ...{ id: randomUUID(), network: wallet.network, requireApproval: null },
      argumentRules: [{ argument: 'value', operator: 'le' as const, value: '1' }],
      ...{ expiresAt: new Date(Date.now() + 3_600_000), maxTotalValue: 1n, maxUses: 3, maxTotalFee: 1_000n },
      ...{ tokenLimits: [], rollingLimits: [] },
    }
    await vault.newPolicy({ ...request(wallet), terms, name: 'Rent' })
    const seen = refusals.length
    const [{ last = '0' } = {}] = await sql<{ last: string }[]>`select max(id)::text as last from audit`
    using key = await vault.openKey(request(wallet))
    using byPolicy = await vault.openKeyByPolicy({ ...request(wallet), terms })
    using policies = await vault.openPolicies({ ...request(wallet), limit: 5 })
    await Bun.sleep(20)
    const spends = { value: 0n, fee: 0n }
    const use = { action: 'transaction_signed', details: {}, payloads: [EVM_PAYLOAD] } as const
    const late = await Promise.allSettled([
      signOne(key),
      signOneBy(byPolicy),
      policies.sign({ policyId: terms.id, spends }, use),
    ])
    expect(late).toMatchObject(Array(3).fill({ reason: { code: 'busy', retryable: true } }))
    // The connection is as before, and nothing was signed.
    key[Symbol.dispose]()
    expect(await vault.status()).toEqual(await world.vault.status())
    expect(await sql`select action from audit where id > ${last}`).toHaveLength(0)
    expect([refusals.length, errors]).toEqual([seen, []])
  })

  test('who uses the key of another connection loses the connection, and that key still signs', async () => {
    const { path } = await startVault()
    const wallet = await newWallet()
    using key = await asApi(path).openKey(request(wallet))
    const seen = refusals.length
    const uses = [
      { action: 'message_signed', details: {}, payloads: [{ kind: 'evm_message', message: new Uint8Array() }] },
    ]
    const socket = createConnection(path)
    socket.write(Buffer.concat([frameOf({ protocol: 1, name: 'thief' }), frameOf([1, 'sign', { handle: 1, uses }])]))
    expect(await nextRefusal(seen)).toBe('thief: a key is not open on this connection')
    socket.destroy()
    await signOne(key)
  })
})

test('a key is zeroed when its connection ends, and one that was still being opened too', async () => {
  const opened = Promise.withResolvers<void>()
  const goOn = Promise.withResolvers<void>()
  const first = Promise.withResolvers<void>()
  const second = Promise.withResolvers<void>()
  let isSlow = false
  const watched: OperatorVault = {
    ...world.vault,
    openKey: async (input) => {
      const key = await world.vault.openKey(input)
      const zeroed = isSlow ? second : first
      if (isSlow) {
        opened.resolve()
        await goOn.promise
      }
      const dispose = () => {
        key[Symbol.dispose]()
        zeroed.resolve()
      }
      return { sign: key.sign, [Symbol.dispose]: dispose }
    },
  }
  const { path } = await startVault(watched)
  const vault = asApi(path)
  const wallet = await newWallet()
  await vault.openKey(request(wallet))
  isSlow = true
  const asked = vault.openKey(request(wallet)).catch((error: unknown) => error)
  await opened.promise
  vault.close()
  expect(await asked).toMatchObject({ code: 'unavailable' })
  await first.promise
  goOn.resolve()
  await second.promise
})

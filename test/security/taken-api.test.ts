// Somebody with full control of an API's process has its variables with SERVICE_KEY and IDENTITY_KEY, its database
// login and its socket. The attacks below use nothing else. The vault is a process of its own; what an owner does goes
// the same way.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import type { Sql } from 'postgres'
import postgres from 'postgres'
import { hashMessage, hashTypedData, keccak256, type Signature, serializeTransaction, toHex } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import type { PolicyTerms } from '../../db/queries/vault/policies.ts'
import { insertWallet } from '../../db/queries/wallets.ts'
import { execution } from '../../src/chains/evm/safe/execution.ts'
import { deriveContractWallet } from '../../src/chains/evm/safe/settings.ts'
import { walletMac } from '../../src/identity/auth/row-macs.ts'
import { createProject } from '../../src/operators/projects.ts'
import { connectVault } from '../../src/vault/client/remote-vault.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { KeyUse, OpenKey } from '../../src/vault/contract/vault.ts'
import type { Payload } from '../../src/vault/language/payload.ts'
import { messageSigner, signerOnce } from '../support/keys.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { byTcp } from '../support/postgres.ts'
import { startService } from '../support/service.ts'
import { afterTests, shared } from '../support/shared.ts'
import { startVaultProcess } from '../support/vault.ts'
import { ACTOR, bytesOf, codeOf, newTerms, SECRET, signOne, signOneBy, tally } from '../vault/support.ts'
import { createWire, frameOf } from '../vault/wire-support.ts'

const pin = { userPin: '493817' }
const otherPin = { userPin: '927461' }
const secret = { developerSecret: SECRET }
const both = { ...secret, ...pin }
const DENIED = '42501'

const { raw } = createWire()
const connections: ReturnType<typeof connectVault>[] = []

const node = 'http://127.0.0.1:1'
const service = await shared(startService({ rpcUrls: { Ethereum: node, Base: node, Polygon: node } }))
const socket = `${service.variables.VAULT_SOCKET}.process`
const vaultProcess = await shared(startVaultProcess({ ...service.vaultVariables, VAULT_SOCKET: socket }))
const superuser = service.database.sql
const login = postgres(byTcp(service.database.apiUrl).href, { max: 1, onnotice: () => {} })
afterTests(() => login.end())
const projectId = service.project.projectId
afterTests(() => {
  for (const { close } of connections) close()
})

const connected = () => {
  const connection = connectVault({ sockets: [socket], name: 'taken', onChange: () => {} })
  connections.push(connection)
  return connection
}
const vault = connected()

const newWallet = async (changes: Partial<WalletRow> = {}, credentials: Credentials = pin): Promise<WalletRow> => {
  const owner = { projectId, ownerId: randomUUID(), network: 'Ethereum', controlMode: 'user', ...changes } as const
  const id = randomUUID()
  const { type = 'eoa' } = changes
  const of = { ...owner, type, walletId: id, family: 'evm', credentials, actor: ACTOR } as const
  const { keyringId, publicKey, address } = await vault.newWallet(of)
  const wallet = { ...owner, id, type, keyringId, publicKey, address }
  await insertWallet(service.ctx.db, { ...wallet, name: 'w', mac: walletMac(service.ctx.identity).of(wallet) })
  return wallet
}

const request = (wallet: WalletRow, credentials: Credentials = pin) => ({ wallet, credentials, actor: ACTOR })
/** As it crosses. */
const rawRequest = (wallet: WalletRow, credentials: Readonly<Record<string, string>> = pin) => {
  const bytes = Object.entries(credentials).map(([name, text]) => [name, Buffer.from(text)])
  return { ...request(wallet), credentials: Object.fromEntries(bytes) }
}
/** What both ways to a key for transactions come to. */
const opening = async (wallet: WalletRow, credentials: Credentials) => {
  const of = request(wallet, credentials)
  const codes = [await codeOf(vault.openKey(of)), await codeOf(vault.signOnce({ ...of, uses: [] }))]
  return codes[0] === codes[1] ? codes[0] : codes
}

/** A rule on the function, without its selector. */
const FUNCTION = { argument: 'decodedInput.function', operator: 'eq', value: 'f' } as const

const newPolicy = async (
  wallet: WalletRow,
  agreed: Partial<PolicyTerms> = {},
  credentials: Credentials = both,
): Promise<PolicyTerms> => {
  const terms = { ...newTerms(wallet), ...agreed }
  await vault.newPolicy({ ...request(wallet, credentials), terms, name: '' })
  return terms
}

/** The statements that the database allows the API's login. */
const allowed = async (...statements: readonly string[]): Promise<readonly string[]> => {
  const codes = await Promise.all(statements.map((each) => login.unsafe(each).catch(({ code }) => code)))
  return statements.filter((_, at) => codes[at] !== DENIED)
}

/** Why the vault refused connections, in order. @param least how many reasons to wait for. */
const refusals = async (least = 0): Promise<readonly string[]> => {
  const line = /"why":"([^"]+)".*"msg":"closed a connection for bad input"/g
  for (;;) {
    const told = [...vaultProcess.output().matchAll(line)].map(([, why = '']) => why)
    if (told.length >= least) return told
    await Bun.sleep(5)
  }
}
const refusalsAfter = async (seen: number) => (await refusals(seen + 1)).slice(seen)

/** A connection on which a client can say what ours never says. */
const openRaw = async () => {
  const line = await raw(socket)
  line.hello()
  return line
}
type Line = Awaited<ReturnType<typeof openRaw>>

/** @returns the output of what is asked, whatever else comes meanwhile. */
const ask = async (line: Line, id: number, method: string, input: object) => {
  line.send([id, method, input])
  for (let many = 1; ; many += 1) {
    const message = (await line.received(many))[many - 1]
    if (Array.isArray(message) && message[0] === id) return message[2]
  }
}

/** Asks what the vault must answer by closing the connection. @returns the reasons that the vault tells. */
const refused = async (line: Line, method: string, input: object) => {
  const seen = (await refusals()).length
  line.send([2, method, input])
  await line.over
  return await refusalsAfter(seen)
}

describe('with full control of the API process nobody', () => {
  test('opens a key without its credential', async () => {
    const theirs = await newWallet({}, otherPin)
    const developers = await newWallet({ controlMode: 'developer' }, secret)
    for (const none of [{}, secret]) expect(await opening(theirs, none)).toBe('credential_required')
    expect(await opening(theirs, pin)).toBe('INVALID_SECRET')
    expect(await opening(developers, { developerSecret: 'testnet-secreu' })).toBe('INVALID_SECRET')
    expect(await opening(developers, pin)).toBe('credential_required')
    expect(await opening(theirs, otherPin)).toBe('resolved')
    // A policy lets the developer open a key, and nothing else.
    await newPolicy(theirs, {}, { ...secret, ...otherPin })
    expect(await opening(theirs, secret)).toBe('credential_required')
  })

  test('opens a key by a wallet that it says to be another one, or whose row somebody else changed so; it may not itself', async () => {
    const ours = await newWallet({ network: 'Polygon' })
    const theirs = await newWallet({}, otherPin)
    const changes: (readonly [Partial<WalletRow>, Credentials])[] = [
      [{ network: 'Base' }, otherPin],
      [{ ownerId: ours.ownerId, keyringId: ours.keyringId }, pin],
    ]
    if (isLong) {
      const shared = { controlMode: 'developer', network: 'Polygon', ownerId: theirs.ownerId } as const
      await newWallet(shared, { ...secret, ...otherPin })
      const project = await createProject(service.ctx, { name: 'Ours', actor: 'operator' })
      const elsewhere = await newWallet({ projectId: project.projectId, network: 'Polygon' })
      changes.push(
        [{ controlMode: 'developer' }, secret],
        [{ keyringId: ours.keyringId }, otherPin],
        [{ ownerId: ours.ownerId }, pin],
        [{ projectId: project.projectId }, otherPin],
        [{ ...elsewhere, id: theirs.id, network: 'Ethereum' }, pin],
        [{ publicKey: ours.publicKey }, otherPin],
      )
    }
    const write = (
      { id, projectId: of, ownerId, network, keyringId, controlMode, publicKey }: WalletRow,
      by: Sql,
    ) => by`
      update wallets set project_id = ${of}, owner_id = ${ownerId}, network = ${network}, keyring_id = ${keyringId},
        control_mode = ${controlMode}, public_key = ${publicKey} where id = ${id}`
    for (const [change, credentials] of changes) {
      const wallet = { ...theirs, ...change }
      const before = await opening(wallet, credentials)
      expect(await write(wallet, login).catch(({ code }) => code)).toBe('42501')
      await write(wallet, superuser)
      expect([change, before, await opening(wallet, credentials)]).toEqual([change, 'internal', 'internal'])
      await write(theirs, superuser)
    }
    expect(await opening(theirs, otherPin)).toBe('resolved')
  })

  test('tries more PINs than the guess limit, by any name, way or connection', async () => {
    const wallet = await newWallet()
    const many = Array.from({ length: 4 }, connected)
    const tries = Array.from({ length: 60 }, (_, n) => {
      const [userPin, actor] = [String(310_476 + 1_013 * n), `${n % 2 === 0 ? 'api_key' : 'user'}:${randomUUID()}`]
      const asked = { wallet, credentials: { userPin, from: `10.0.0.${n}` }, actor, uses: [] }
      const change = { wallet, oldPin: userPin, newPin: '850273', actor }
      const by = many[n % 4] ?? vault
      const ways = [by.openKey, by.signOnce, by.signMessage, by.exportKeyring, () => by.changeUserPin(change)]
      return ways[n % 6]?.(asked) ?? by.revokePolicy({ ...asked, policyId: randomUUID() })
    })
    expect(await tally(tries)).toEqual({ INVALID_SECRET: 5, TOO_MANY_FAILED_ATTEMPTS: 55 })
    // It has counted the rest of the tries at the locked owner, and writes them later.
    const told = await superuser`
      select action, count(*)::int from audit where subject = ${wallet.ownerId} and action ~ 'pin|owner' group by 1 order by 1`
    expect(told.map(({ action, count }) => [action, Math.min(count, 4)])).toEqual([
      ['locked_owner_tried', 4],
      ['owner_locked', 1],
      ['wrong_pin', 4],
    ])
    expect(await opening(wallet, pin)).toBe('TOO_MANY_FAILED_ATTEMPTS')
    const resets = ['update pin_guesses set fails = 0', 'delete from pin_guesses', 'truncate pin_guesses']
    const further = ['set role strongroom_vault', 'select * from pin_guesses', 'delete from user_keys']
    expect(await allowed(...resets, ...further)).toEqual([])
    const unlocked = await refused(await openRaw(), 'unlockOwner', { projectId, ownerId: wallet.ownerId, actor: ACTOR })
    expect(unlocked).toEqual(['a method is unknown'])
    expect(await opening(wallet, pin)).toBe('TOO_MANY_FAILED_ATTEMPTS')
  })

  test('raises the limits of a policy', async () => {
    const wallet = await newWallet()
    const expiresAt = new Date(Date.now() + 3_600_000)
    const terms = await newPolicy(wallet, { expiresAt, maxUses: 1, maxTotalValue: 5n, maxTotalFee: 7n })
    const edits = [
      ...[{ maxUses: 2 }, { maxUses: null }, { maxTotalValue: 6n }, { maxTotalValue: null }, { maxTotalFee: 8n }],
      ...[{ expiresAt: null }, { argumentRules: [] }, { network: 'Base' as const }, { id: randomUUID() }],
    ]
    const opened = (of: object) => vault.openKeyByPolicy({ ...request(wallet, secret), terms: { ...terms, ...of } })
    for (const edit of edits) expect([edit, await codeOf(opened(edit))]).toEqual([edit, 'policy_denied'])
    expect(await allowed('update policies set uses = 0', 'delete from policies', 'table policy_locks')).toEqual([])
    const [one, other] = [await opened({}), await opened({})]
    expect(await codeOf(signOneBy(one, { value: 6n }))).toBe('policy_denied')
    expect(await codeOf(signOneBy(one, { value: 5n, fee: 7n }))).toBe('resolved')
    expect(await codeOf(signOneBy(other))).toBe('policy_denied')
  })

  test('pays more by a policy than its limits allow, whatever it sends to the vault', async () => {
    const wallet = await newWallet()
    const argumentRules = [{ argument: 'value', operator: 'ge' as const, value: '0' }]
    const terms = await newPolicy(wallet, { argumentRules, maxTotalValue: 10n, maxTotalFee: 42_000n })
    const signed = async (...payments: readonly object[]) => {
      using key = await vault.openKeyByPolicy({ ...request(wallet, secret), terms })
      const payloads = payments.map((changes) => transfer(0n, changes).payload)
      const use = { action: 'transaction_signed', details: {}, payloads } as const
      return await codeOf(key.sign({ value: 0n, fee: 0n }, use))
    }
    const [payment, fee] = [{ value: 10n }, { maxFeePerGas: 1n }]
    expect(await signed({ value: 11n })).toBe('policy_denied')
    expect(await signed({ maxFeePerGas: 3n })).toBe('policy_denied')
    for (const others of [[{ chainId: 137 }], [{ value: 1n }, { value: 1n, nonce: 1 }]]) {
      expect(await signed(...others)).toBe('internal')
    }
    expect(await signed(payment, { ...payment, ...fee })).toBe('resolved')
    expect([await signed({ value: 1n }), await signed(fee), await signed(fee)]).toEqual([
      ...['policy_denied', 'resolved', 'policy_denied'],
    ])
  })

  longTest(
    'has the contract wallet of a key do something by a policy of its address, nor the address by one of that',
    async () => {
      const wallet = await newWallet()
      const terms = await newPolicy(wallet)
      const owner = deriveContractWallet(wallet.address)
      const opening = async (of: WalletRow) => {
        using key = await vault.openKeyByPolicy({ ...request(of, secret), terms })
        const { to, input } = execution(owner, [{ to: `0x${'ab'.repeat(20)}`, value: 0n, input: '0x' }])
        const { payload } = transfer(0n, { to, data: input })
        return await codeOf(
          key.sign({ value: 0n, fee: 0n }, { action: 'transaction_signed', details: {}, payloads: [payload] }),
        )
      }
      expect(await opening(wallet)).toBe('internal')
      // No API can change the row of a wallet, and what it says of the type does not reach the vault. Somebody else
      // changes the row.
      await superuser`update wallets set type = 'contract', address = ${owner.address} where id = ${wallet.id}`
      expect(await codeOf(opening(wallet))).toBe('internal')
      expect(
        await codeOf(
          vault.openPolicies({ ...request(wallet, secret), limit: 1 }).then(async (opened) => {
            using policies = opened
            const use = { action: 'transaction_signed', details: {}, payloads: [transfer(0n).payload] } as const
            return await policies.sign({ policyId: terms.id, spends: { value: 0n, fee: 0n } }, use)
          }),
        ),
      ).toBe('internal')
    },
  )

  test('has a call signed whose recipient, value or function the rules of a policy do not allow', async () => {
    const [wallet, ofContract] = [await newWallet(), await newWallet({ type: 'contract' })]
    const contract = deriveContractWallet(publicKeyToAddress(toHex(ofContract.publicKey)))
    const to = `0x${'ab'.repeat(20)}` as const
    const [toRule, valueRule] = [
      { argument: 'to', operator: 'eq', value: to.toUpperCase().replace('0X', '0x') },
      { argument: 'value', operator: 'le', value: '5' },
    ] as const
    const paying = [toRule, valueRule]
    const calling = [toRule, { ...FUNCTION, selector: '0xa9059cbb' }]
    const cases = [
      [paying, { to, value: 5n }, 'resolved'],
      [paying, { to, value: 6n }, 'internal'],
      [paying, { to, value: 0n, data: '0xa9059cbb' }, 'internal'],
      [paying, { to: `0x${'cd'.repeat(20)}`, value: 5n }, 'internal'],
      [calling, { to, value: 0n, data: '0xa9059cbb00' }, 'resolved'],
      [calling, { to, value: 0n }, 'internal'],
      [calling, { to, value: 0n, data: '0xa9059cbc00' }, 'internal'],
      [calling, { to, value: 0n, data: '0xa9059c' }, 'internal'],
      [calling, { to: `0x${'cd'.repeat(20)}`, value: 0n, data: '0xa9059cbb' }, 'internal'],
      [[valueRule], { to: null, value: 0n, data: '0x00' }, 'internal'],
      [[{ ...FUNCTION, selector: '0x00000000' }], { to: null, value: 0n, data: '0x00000000' }, 'internal'],
    ] as const
    const made = new Map<string, Promise<PolicyTerms>>()
    /** One policy of a wallet for all cases with the same rules. */
    const policyOf = (of: WalletRow, argumentRules: PolicyTerms['argumentRules']) => {
      const key = `${of.id} ${JSON.stringify(argumentRules)}`
      const policy = made.get(key) ?? newPolicy(of, { argumentRules, maxTotalFee: 10n ** 30n })
      made.set(key, policy)
      return policy
    }
    const sign = async (of: WalletRow, argumentRules: PolicyTerms['argumentRules'], changes: object) => {
      const terms = await policyOf(of, argumentRules)
      using key = await vault.openKeyByPolicy({ ...request(of, secret), terms })
      const { payload } = transfer(0n, changes)
      return await codeOf(
        key.sign({ value: 0n, fee: 0n }, { action: 'transaction_signed', details: {}, payloads: [payload] }),
      )
    }
    for (const [rules, changes, outcome] of someOf(cases, 3)) {
      expect([changes, await sign(wallet, rules, changes)]).toEqual([changes, outcome])
    }
    // Each call of a batch counts.
    const allowed = { to, value: 5n, input: '0x' } as const
    for (const [second, outcome] of [
      [allowed, 'resolved'],
      [{ ...allowed, value: 6n }, 'internal'],
    ] as const) {
      const { to: safe, input: data } = execution(contract, [allowed, second])
      expect(await sign(ofContract, paying, { to: safe, value: 0n, data })).toBe(outcome)
    }
  })

  test('takes more of a token by a policy than its limits allow, whatever it sends to the vault', async () => {
    const wallet = await newWallet()
    const contractAddress = `0x${'ab'.repeat(20)}`
    const limited = (selector: string) =>
      newPolicy(wallet, {
        argumentRules: [{ ...FUNCTION, selector: `0x${selector}` }],
        maxTotalFee: 10n ** 30n,
        tokenLimits: [
          { contractAddress, maxTotal: '10', perSeconds: null },
          { contractAddress, maxTotal: '6', perSeconds: 86_400 },
        ],
        rollingLimits: [{ perSeconds: 86_400, maxTotalValue: '3', maxUses: 4 }],
      })
    const terms = await limited('a9059cbb')
    const word = (value: bigint) => value.toString(16).padStart(64, '0')
    const call = (amount: bigint, selector = 'a9059cbb') =>
      ({ data: `0x${selector}${word(1n)}${word(amount)}` as const }) as const
    const signedBy = async (by: PolicyTerms, ...changes: readonly object[]) => {
      using key = await vault.openKeyByPolicy({ ...request(wallet, secret), terms: by })
      const payloads = changes.map((each) => transfer(0n, each).payload)
      const use = { action: 'transaction_signed', details: {}, payloads } as const
      return await codeOf(key.sign({ value: 0n, fee: 0n }, use))
    }
    const signed = (...changes: readonly object[]) => signedBy(terms, ...changes)
    expect(await signed(call(11n))).toBe('policy_denied')
    if (isLong) expect(await signedBy(await limited('095ea7b3'), call(7n, '095ea7b3'))).toBe('policy_denied')
    // What cannot be counted, and two transactions at once.
    expect(await signedBy(await limited('42842e0e'), call(1n, '42842e0e'))).toBe('internal')
    expect(await signed(call(1n), { ...call(1n), nonce: 1 })).toBe('internal')
    // The dearest version counts.
    expect(await signed(call(1n), call(5n))).toBe('resolved')
    expect(await signed(call(2n))).toBe('policy_denied')
    expect(await signed({ ...call(1n), value: 3n })).toBe('resolved')
    expect(await signed({ ...call(0n), value: 1n })).toBe('policy_denied')
    expect([await signed(call(0n)), await signed(call(0n)), await signed(call(0n))]).toEqual([
      ...['resolved', 'resolved', 'policy_denied'],
    ])
    const told = [{ tokenLimits: [] }, { rollingLimits: [] }, { tokenLimits: terms.tokenLimits.slice(0, 1) }]
    for (const change of told) {
      const opened = vault.openKeyByPolicy({ ...request(wallet, secret), terms: { ...terms, ...change } })
      expect(await codeOf(opened)).toBe('policy_denied')
    }
  })
})

type Signed = { readonly payload: Payload; readonly hashOf: (signature: Uint8Array) => string }

/** @param more gas than a transfer needs: such transactions are versions of one, as they have the same nonce. */
const transfer = (more: bigint, changes: object = {}): Signed => {
  const to = `0x${'ab'.repeat(20)}` as const
  const transaction = { type: 'eip1559', chainId: 11_155_111, nonce: 0, gas: 21_000n + more, to, ...changes } as const
  const unsigned = bytesOf(serializeTransaction(transaction).slice(2))
  const hashOf = (signature: Uint8Array) => {
    const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)].map((part) => toHex(part))
    return keccak256(serializeTransaction(transaction, { r, s, yParity: signature[64] } as Signature))
  }
  return { payload: { kind: 'evm_transaction', unsigned }, hashOf }
}

const message = bytesOf('0102')
const types = { Mail: [{ name: 'text', type: 'string' }] }
const typedData = { domain: { name: 'A' }, types, primaryType: 'Mail', message: { text: 'Hello' } } as const

/** Payloads, and the hash by which the chain or a verifier knows what was signed. */
const transactions: readonly [Signed, ...Signed[]] = [transfer(0n), transfer(1n), transfer(2n)]
const messages: readonly [Signed, ...Signed[]] = [
  { payload: { kind: 'evm_message', message }, hashOf: () => hashMessage({ raw: message }) },
  { payload: { kind: 'typed_data', typedData }, hashOf: () => hashTypedData(typedData) },
]

describe('with full control of the API process every signature', () => {
  /** Says what is not so, where the vault lets it. */
  const useOf = (list: readonly Signed[]): KeyUse => ({
    action: 'transaction_signed',
    details: { hash: '0x', further_hashes: '0x' },
    payloads: list.map(({ payload }) => payload),
  })
  const byPolicy = async (wallet: WalletRow) => {
    const terms = await newPolicy(wallet)
    const key = await vault.openKeyByPolicy({ ...request(wallet, secret), terms })
    return { sign: (...uses: readonly KeyUse[]) => key.sign({ value: 0n, fee: 0n }, ...uses) }
  }
  type Open = (wallet: WalletRow) => Promise<Pick<OpenKey, 'sign'>>
  const ways: readonly (readonly [string, Open, typeof messages, typeof messages])[] = [
    ['openKey', (wallet) => vault.openKey(request(wallet)), transactions, messages],
    ['signOnce', async (wallet) => signerOnce(vault, request(wallet)), transactions, messages],
    ['signMessage', async (wallet) => messageSigner(vault, request(wallet)), messages, transactions],
    ['openKeyByPolicy', byPolicy, transactions, messages],
  ]

  test.each(someOf(ways, 2))(
    'of %s is in the audit by its hash, and there is none without it',
    async (_, open, payloads, others) => {
      const wallet = await newWallet()
      const key = await open(wallet)
      const [first, ...further] = payloads
      const signed = [...(await key.sign(useOf([first]), useOf(further)))].flat()
      const hashes = payloads.map(({ hashOf }, at) => hashOf(signed[at] ?? new Uint8Array()))
      const rows = await superuser`
      select details from audit where subject = ${wallet.id} and action = 'transaction_signed' order by id`
      const told = rows.flatMap(({ details }) => [details.hash, ...(details.further_hashes ?? '0x').split(' ')])
      expect([signed.length, told.filter((hash) => hash !== '0x')]).toEqual([payloads.length, hashes])
      // What it was not opened for it does not sign.
      for (const other of others) expect(await codeOf((await open(wallet)).sign(useOf([other])))).toBe('internal')
      const last = await open(wallet)
      await superuser`revoke insert on audit from strongroom_vault`
      try {
        expect(await codeOf(last.sign(useOf(payloads)))).toBe('internal')
      } finally {
        await superuser`grant insert on audit to strongroom_vault`
      }
    },
  )

  test('is recorded with what it does, whatever the API says about it', async () => {
    const lies = { network: 'Base', chain_id: '1', nonce: '9', to: '0x', value: '0', calls: '0', policy: 'none' }
    const further = { further: '[]', further_hashes: '0x', contract_wallet: '0x', said_by: 'the API' }
    const wallet = await newWallet()
    const signed = async (...list: readonly Signed[]) => {
      const use = { ...useOf(list), details: { ...lies, ...further } }
      await vault.signOnce({ ...request(wallet), uses: [use] })
      const [row] = await superuser`select details from audit where subject = ${wallet.id} order by id desc limit 1`
      const { hash: _, further_hashes: hashes, ...told } = row?.details ?? {}
      return { ...told, hashes: hashes?.split(' ').length ?? 0 }
    }
    const to = `0x${'ab'.repeat(20)}`
    const first = { chain_id: '11155111', nonce: '0', to, value: '7' }
    const told = { ...first, network: 'Ethereum', said_by: 'the API' }
    const payment = { value: 7n }
    expect(await signed(transfer(0n, payment))).toEqual({ ...told, hashes: 0 })
    // Other fees for the same, and a cancel.
    const cancel = transfer(0n, { to: `0x${'11'.repeat(20)}` })
    const versions = [transfer(1n, payment), transfer(2n, { ...payment, maxFeePerGas: 9n }), cancel]
    expect(await signed(transfer(0n, payment), ...versions)).toEqual({ ...told, hashes: 3 })
    // Others, among them the same for another chain, nonce, recipient or call.
    const thief = `0x${'ee'.repeat(20)}` as const
    const others = [
      [{ ...payment, chainId: 137 }, { chain_id: '137' }],
      [{ ...payment, nonce: 1 }, { nonce: '1' }],
      [{ ...payment, to: thief }, { to: thief }],
      [{ value: 8n }, { value: '8' }],
      [{ ...payment, data: '0x01' }, {}],
      [{ nonce: 1 }, { nonce: '1', value: '0' }],
      [
        { to: null, data: '0x00', value: 0n },
        { to: 'new_contract', value: '0' },
      ],
    ] as const
    for (const [change, shown] of someOf(others, 3)) {
      const { further: also, ...rest } = await signed(transfer(0n, payment), transfer(0n, change))
      expect([change, rest, JSON.parse(also)]).toEqual([change, { ...told, hashes: 1 }, [{ ...first, ...shown }]])
    }
  })

  test('that nobody waits for is there too', async () => {
    const wallet = await newWallet()
    const line = await openRaw()
    await line.received(1)
    const input = { ...rawRequest(wallet), uses: [useOf(transactions)] }
    line.socket.end(frameOf([1, 'signOnce', input]))
    for (;;) {
      const rows = await superuser`select 1 from audit where subject = ${wallet.id} and action = 'transaction_signed'`
      if (rows.length === 1) break
      await Bun.sleep(5)
    }
  })

  test('stays there, as it was written', async () => {
    const edits = [`update audit set details = '{}'`, 'delete from audit', 'truncate audit', 'delete from audit_chain']
    const links = `insert into audit_chain (chain, position, audit_id, head) values ('deployment', 1, 1, '')`
    expect(await allowed(...edits, links, 'alter table audit disable trigger all', 'drop table audit')).toEqual([])
  })
})

describe('with full control of the API process a key', () => {
  const use: KeyUse = { action: 'message_signed', details: {}, payloads: [transactions[0].payload] }
  const charged: KeyUse = { ...use, action: 'transaction_signed' }

  test('of another connection, or of a policy without its charge, ends the connection', async () => {
    const wallet = await newWallet()
    const [owner, thief] = [await openRaw(), await openRaw()]
    const handle = await ask(owner, 1, 'openKey', rawRequest(wallet))
    expect(await ask(thief, 1, 'openKey', rawRequest(wallet))).toBe(handle + 1)
    expect(await refused(thief, 'sign', { handle, uses: [use] })).toEqual(['a key is not open on this connection'])
    expect(await ask(owner, 2, 'sign', { handle, uses: [use] })).toEqual([[expect.any(Uint8Array)]])
    const terms = await newPolicy(wallet)
    const other = await openRaw()
    const uncharged = await ask(other, 1, 'openKeyByPolicy', { ...rawRequest(wallet, secret), terms })
    const policies = async (line: typeof other) =>
      (await ask(line, 1, 'openPolicies', { ...rawRequest(wallet, secret), limit: 1 })).handle
    const by = { policyId: terms.id, spends: { value: 0n, fee: 0n } }
    const [line, twice, mixed] = [await openRaw(), await openRaw(), await openRaw()]
    const used = await policies(twice)
    expect(await ask(twice, 2, 'signOnceByPolicy', { handle: used, ...by, uses: [charged] })).toEqual([
      [expect.any(Uint8Array)],
    ])
    const ways = [
      [other, 'sign', { handle: uncharged, uses: [use] }, 'a key is not open on this connection'],
      [line, 'sign', { handle: await policies(line), uses: [use] }, 'a key is not open on this connection'],
      [twice, 'signOnceByPolicy', { handle: used, ...by, uses: [charged] }, 'a key is not open on this connection'],
      [
        mixed,
        'signByPolicy',
        { handle: await policies(mixed), spends: by.spends, uses: [charged] },
        'a key is not open on this connection',
      ],
    ] as const
    for (const [of, method, input, why] of ways) expect(await refused(of, method, input)).toEqual([why])
  })

  test.each([
    ['used a third time', 'a key was used too often', 0],
    ['used after its end', 'a key is not open on this connection', 1],
  ] as const)('%s ends the connection, and another one works on', async (_, why, isClosed) => {
    const wallet = await newWallet()
    using kept = await vault.openKey(request(wallet))
    const seen = (await refusals()).length
    const key = await connected().openKey(request(wallet))
    await signOne(key)
    if (isClosed) key[Symbol.dispose]()
    else await signOne(key)
    expect(await codeOf(signOne(key))).toBe('unavailable')
    expect(await refusalsAfter(seen)).toEqual([why])
    await signOne(kept)
    const told = () => superuser`
      select from audit where action = 'vault_connection_refused' and details->>'why' = ${why}`
    while ((await told()).length === 0) await Bun.sleep(5)
  })

  test('gets nothing for a wallet of which it says another keyring, public key, network, mode, owner, type or address', async () => {
    const [wallet, other] = [await newWallet(), await newWallet()]
    const { projectId: _, ...parts } = { ...other, network: 'Polygon', controlMode: 'developer', type: 'contract' }
    for (const [name, value] of someOf(Object.entries(parts), 3)) {
      const claimed = { ...wallet, [name]: value }
      // Both wallets have one PIN: an id alone names the other one, to which this PIN belongs.
      const codes = [
        await codeOf(vault.openKey(request(claimed))),
        await codeOf(vault.signOnce({ ...request(claimed), uses: [use] })),
        await codeOf(vault.exportKeyring(request(claimed))),
        await codeOf(vault.newRecoveryCode(request(claimed))),
        await codeOf(vault.changeUserPin({ wallet: claimed, oldPin: pin.userPin, newPin: '927461', actor: ACTOR })),
      ]
      expect([name, codes]).toEqual([name, Array(codes.length).fill('internal')])
    }
    expect(await codeOf(vault.openKey(request(wallet)))).toBe('resolved')
    // What the schema does not name ends the connection.
    const more = { ...rawRequest(wallet), wallet: { ...wallet, name: 'x' } }
    expect(await refused(await openRaw(), 'openKey', more)).toEqual(['an input of openKey is not as it should be'])
  })

  test('cannot be asked for in a way that fails for others, who share its statements', async () => {
    const wallet = await newWallet()
    const inputs = [
      { ...rawRequest(wallet), wallet: { ...wallet, id: 'x' } },
      { ...rawRequest(wallet), actor: 'api_key:\u0000' },
      // A PIN comes as bytes, which can be erased.
      request(wallet),
    ]
    for (const input of inputs) {
      expect(await refused(await openRaw(), 'openKey', input)).toEqual(['an input of openKey is not as it should be'])
    }
    const raw = await openRaw()
    const handle = await ask(raw, 1, 'openKey', rawRequest(wallet))
    const uses = [{ ...use, details: { to: '\u0000' } }]
    expect(await refused(raw, 'sign', { handle, uses })).toEqual(['an input of sign is not as it should be'])
    expect(await refused(await openRaw(), 'signOnce', { ...rawRequest(wallet), uses })).toEqual([
      'an input of signOnce is not as it should be',
    ])
  })
})

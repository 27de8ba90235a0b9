// Uses of a policy that needs approvers: the vault verifies their assertions itself, reads what it signs, and uses an
// approval once.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { createHash, generateKeyPairSync, type KeyObject, randomUUID, sign as signWith } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import postgres, { type Sql } from 'postgres'
import { serializeTransaction } from 'viem'
import { publicKeyToAddress } from 'viem/accounts'
import type { PolicyTerms } from '../../db/queries/vault/policies.ts'
import type { WalletType } from '../../db/words.ts'
import type { Intent } from '../../src/chains/chain.ts'
import { deployAndExecute } from '../../src/chains/evm/safe/deploy-and-execute.ts'
import { execution } from '../../src/chains/evm/safe/execution.ts'
import { deployment, deriveContractWallet } from '../../src/chains/evm/safe/settings.ts'
import type { Approval, OperatorVault } from '../../src/vault/contract/vault.ts'
import { approvalChallenge } from '../../src/vault/language/approval.ts'
import type { Payload } from '../../src/vault/language/payload.ts'
import { openJournal } from '../../src/vault/rooms/journal/journal.ts'
import { disobediencesOf, whileDisobeying } from '../support/disobedience.ts'
import { withPolicyKey } from '../support/keys.ts'
import { isLong, someOf } from '../support/long.ts'
import {
  ACTOR,
  codeOf,
  hexOf,
  openWorld,
  SECRET,
  signOneBy,
  type TestWallet,
  tally,
  type VaultWorld,
} from './support.ts'

const RP_ID = 'example.com'
const secret = { developerSecret: SECRET }
const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const INTENT = { to: TO, value: '5', input: '0xAb' } as const
const IN_AN_HOUR = new Date(Date.now() + 3_600_000)

let world: VaultWorld
let other: OperatorVault
let sql: Sql
let projectId: string

beforeAll(async () => {
  world = await openWorld()
  other = await world.another()
  sql = postgres(world.url, { max: 2, onnotice: () => {} })
  projectId = await world.project()
})
afterAll(async () => {
  await sql.end()
  await world.close()
})

const sha256 = (data: string | Uint8Array) => createHash('sha256').update(data).digest()

const KEYS = {
  ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  EdDSA: () => generateKeyPairSync('ed25519'),
  RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
}

type Person = ReturnType<typeof newPerson>

const newPerson = (algorithm: keyof typeof KEYS = 'ES256', userId: string = randomUUID()) => {
  const { privateKey, publicKey } = KEYS[algorithm]()
  const credentialId = Buffer.from(randomUUID()).toString('base64url')
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const approver = { userId, rpId: RP_ID, credentialId, publicKey: spki.toString('base64url') }
  return { approver, algorithm, privateKey: privateKey as KeyObject }
}

const newWallet = (type: WalletType = 'eoa') =>
  world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'developer', credentials: secret, type })

/** A wallet under policies, with one that needs `of` of these people. */
const underApproval = async (
  people: readonly Person[],
  of: number,
  { type, ...agreed }: Partial<PolicyTerms> & { readonly type?: WalletType } = {},
) => {
  const wallet = await newWallet(type)
  const requireApproval = { of, expiresInSeconds: 3_600, approvers: people.map(({ approver }) => approver) }
  const argumentRules = [{ argument: 'decodedInput.function', operator: 'eq' as const, value: 'f', selector: '0xab' }]
  const limits = { requireApproval, maxTotalFee: 10n ** 9n }
  const terms = await world.policy(wallet, secret, { argumentRules, ...limits, ...agreed })
  await world.vault.putUnderPolicies({ wallet, credentials: secret, actor: ACTOR })
  return { wallet, terms }
}

/** Signs with an approval: 'signed', or why not. */
const signedBy = (
  of: { readonly wallet: TestWallet; readonly terms: PolicyTerms },
  approval: Approval,
  payload: Payload,
): Promise<string> =>
  withPolicyKey(world.vault, { ...of, approval, credentials: secret, actor: ACTOR }, (key) =>
    signOneBy(key, {}, payload),
  ).then(
    () => 'signed',
    (error) => error.message,
  )

type Odd = {
  readonly decision?: 'approve' | 'reject'
  readonly type?: string
  readonly flags?: number
  readonly rpId?: string
  readonly policyId?: string
  readonly crossOrigin?: boolean
}

/** What a passkey answers. */
const assertionOf = (
  { approver, algorithm, privateKey }: Person,
  of: Omit<Approval, 'assertions'> & Odd & { readonly policyId: string },
) => {
  const challenge = Buffer.from(approvalChallenge({ ...of, decision: of.decision ?? 'approve' })).toString('base64url')
  const client = {
    type: of.type ?? 'webauthn.get',
    challenge,
    origin: `https://${RP_ID}`,
    crossOrigin: of.crossOrigin ?? false,
  }
  const clientDataJson = Buffer.from(JSON.stringify(client))
  const authenticatorData = Buffer.concat([sha256(of.rpId ?? RP_ID), Buffer.of(of.flags ?? 0x05), Buffer.alloc(4)])
  const signed = Buffer.concat([authenticatorData, sha256(clientDataJson)])
  const signature = signWith(algorithm === 'EdDSA' ? null : 'sha256', signed, privateKey)
  return { credentialId: approver.credentialId, clientDataJson, authenticatorData, signature }
}

const REQUEST = JSON.stringify({ wallet_type: 'eoa', intents: [INTENT] })

const approved = (
  { id: policyId }: PolicyTerms,
  people: readonly Person[],
  odd: Odd = {},
  of: Partial<Omit<Approval, 'assertions'>> = {},
): Approval => {
  const approval = { id: randomUUID(), request: REQUEST, expiresAt: IN_AN_HOUR, ...of }
  return { ...approval, assertions: people.map((person) => assertionOf(person, { ...approval, policyId, ...odd })) }
}

const payload = (changes: object = {}) => {
  const transaction = { to: TO, value: 5n, data: '0xab', ...changes } as const
  const unsigned = serializeTransaction({
    type: 'eip1559',
    chainId: 11_155_111,
    nonce: 7,
    gas: 21_000n,
    maxFeePerGas: 9n,
    ...transaction,
  })
  return { kind: 'evm_transaction', unsigned: new Uint8Array(Buffer.from(unsigned.slice(2), 'hex')) } as const
}

type Use = { readonly wallet: TestWallet; readonly terms: PolicyTerms; readonly approval?: Approval }

const sign = (use: Use, what: object = {}, vault: OperatorVault = world.vault) =>
  withPolicyKey(vault, { ...use, credentials: secret, actor: ACTOR }, (key) => signOneBy(key, {}, payload(what)))

const troublesOf = async ({ id }: PolicyTerms) =>
  (await world.vault.forgedRows({ projectId })).forged.filter((row) => row.id === id).map(({ trouble }) => trouble)

const usesOf = async ({ id }: PolicyTerms) => Number((await sql`select uses from policies where id = ${id}`)[0]?.uses)

describe('a policy with approvers', () => {
  test('signs what enough approvers approved, with all supported types of passkeys, and the audit names the approval', async () => {
    const people = [newPerson('ES256'), newPerson('EdDSA'), newPerson('RS256')]
    const { wallet, terms } = await underApproval(people, 3)
    const approval = approved(terms, people)
    expect(await codeOf(sign({ wallet, terms, approval }))).toBe('resolved')
    const [row] = await sql`select details from audit where action = 'transaction_signed' and subject = ${wallet.id}`
    expect(row?.details).toMatchObject({ policy: terms.id, policy_uses: '1', approval: approval.id })
  })

  const DENIED = 'policy_denied'
  const refusedPerson = newPerson()
  /** For assertions of that person that are all refused. */
  let refused: ReturnType<typeof underApproval> | null = null

  test('signs nothing with too few approvals, and one person with two passkeys counts once', async () => {
    const [anna, boris] = [newPerson(), newPerson()]
    const again = newPerson('ES256', anna.approver.userId)
    const { wallet, terms } = await underApproval([anna, again, boris], 2)
    for (const people of [[], [anna], [anna, again], [anna, anna], [anna, newPerson()]]) {
      expect(await codeOf(sign({ wallet, terms, approval: approved(terms, people) }))).toBe(DENIED)
    }
    expect(await codeOf(sign({ wallet, terms }))).toBe(DENIED)
    expect(await codeOf(sign({ wallet, terms, approval: approved(terms, [again, boris]) }))).toBe('resolved')
    expect(await usesOf(terms)).toBe(1)
  })

  test.each([
    ['a rejection', { decision: 'reject' }],
    ['a registration', { type: 'webauthn.create' }],
    ['without user verification', { flags: 0x01 }],
    ['without the user', { flags: 0x04 }],
    ['of another domain', { rpId: 'evil.com' }],
    ['for another policy', { policyId: randomUUID() }],
    ['in a frame of another site', { crossOrigin: true }],
  ] as const)('accepts no assertion %s', async (_name, odd) => {
    refused ??= underApproval([refusedPerson], 1)
    const { wallet, terms } = await refused
    expect(await codeOf(sign({ wallet, terms, approval: approved(terms, [refusedPerson], odd) }))).toBe(DENIED)
  })

  test('accepts no assertion for another approval, another request or another expiry', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const approval = approved(terms, [anna])
    for (const edit of [
      { id: randomUUID() },
      { request: `${REQUEST} ` },
      { expiresAt: new Date(IN_AN_HOUR.getTime() + 1) },
      { assertions: approval.assertions.map((each) => ({ ...each, signature: each.signature.slice(1) })) },
      { assertions: approval.assertions.map((each) => ({ ...each, credentialId: newPerson().approver.credentialId })) },
    ]) {
      expect(await codeOf(sign({ wallet, terms, approval: { ...approval, ...edit } }))).toBe(DENIED)
    }
    expect(await codeOf(sign({ wallet, terms, approval }))).toBe('resolved')
  })

  test('accepts only the approvers with which it was made', async () => {
    const [anna, eve] = [newPerson(), newPerson()]
    const { wallet, terms } = await underApproval([anna], 1)
    const requireApproval = { of: 1, expiresInSeconds: 60, approvers: [eve.approver] }
    await sql`update policies set require_approval = ${sql.json(requireApproval)} where id = ${terms.id}`
    const edited = { ...terms, requireApproval }
    // No assertion is checked before the lock has proved the terms: that would be work for whoever names approvers.
    for (const people of [[eve], []]) {
      const use = { wallet, terms: edited, approval: approved(edited, people) }
      const { message, code } = await sign(use).catch((error) => error)
      expect([code, message]).toEqual([DENIED, 'The policy that allows this is not as its owner made it.'])
    }
    expect(await troublesOf(terms)).toEqual(['its terms or its lock are not as its owner made them'])
  })
})

describe('an approval', () => {
  test('is used once, even by two vaults at the same time', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const use = { wallet, terms, approval: approved(terms, [anna]) }
    const vaults = [world.vault, other, world.vault, other, world.vault, other]
    expect(await tally(vaults.map((vault) => sign(use, {}, vault)))).toEqual({ resolved: 1, approval_ended: 5 })
    expect(await codeOf(sign(use))).toBe('approval_ended')
    expect(await usesOf(terms)).toBe(1)
  })

  for (const disobedience of someOf(disobediencesOf('insert'), 2))
    for (const isDeferred of isLong && disobedience.when === 'after' ? [false, true] : [false])
      test(`is used once where ${disobedience.name} of used_approvals${isDeferred ? ', at the commit' : ''}`, async () => {
        const anna = newPerson()
        const { wallet, terms } = await underApproval([anna], 1)
        const use = { wallet, terms, approval: approved(terms, [anna]) }
        const vault = await world.another({ db: world.db })
        const codes = await whileDisobeying(
          world.sql,
          { table: 'used_approvals', write: 'insert', disobedience, isDeferred },
          async () => [await codeOf(sign(use, {}, vault)), await codeOf(sign(use, {}, vault))],
        )
        expect(codes.filter((code) => code === 'resolved').length).toBeLessThan(2)
      })

  test("expires by the database's clock", async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const approval = approved(terms, [anna], {}, { expiresAt: new Date(Date.now() - 1) })
    expect(await codeOf(sign({ wallet, terms, approval }))).toBe('approval_ended')
    expect(await usesOf(terms)).toBe(0)
  })

  test('lasts no longer than its policy allows', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    for (const expiresAt of [new Date(Date.now() + 3_660_000), new Date('9999-01-01T00:00:00Z')]) {
      const approval = approved(terms, [anna], {}, { expiresAt })
      expect(await codeOf(sign({ wallet, terms, approval }))).toBe('approval_ended')
    }
    // By the vault's clock, too: that of the database may be ahead.
    for (const [ms, code] of [
      [-60_000, 'approval_ended'],
      [-5_000, 'resolved'],
    ] as const) {
      const now = () => new Date(Date.now() + ms)
      const approval = approved(terms, [anna], {}, { expiresAt: new Date(Date.now() + 3_599_000) })
      expect(await codeOf(sign({ wallet, terms, approval }, {}, await world.another({ now })))).toBe(code)
    }
    expect(await usesOf(terms)).toBe(1)
  })

  test('that was used and whose row is deleted is named by audit verify', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const approval = approved(terms, [anna])
    await sign({ wallet, terms, approval })
    expect(await troublesOf(terms)).toEqual([])
    await sql`delete from used_approvals where approval_id = ${approval.id}`
    expect(await troublesOf(terms)).toEqual(['the audit names an approval that was used, and its row is gone'])
    // The vault that used it remembers. To another one, without a journal, only the audit tells of the first use.
    expect(await codeOf(sign({ wallet, terms, approval }))).toBe('approval_ended')
    expect(await codeOf(sign({ wallet, terms, approval }, {}, await world.another({})))).toBe('resolved')
    expect(await troublesOf(terms)).toEqual(['the audit names an approval that was used twice'])
  })

  test('that was used and whose row is deleted is not used again by a vault with a journal', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'strongroom-approved-'))
    const onLost = (error: unknown) => {
      throw error
    }
    const open = () =>
      openJournal({
        db: world.db,
        key: new Uint8Array(32).fill(7),
        now: () => new Date(),
        onLost,
        paths: [join(folder, 'journal')],
      })
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const use = { wallet, terms, approval: approved(terms, [anna]) }
    const ended = async (vault: OperatorVault) => {
      await sql`delete from used_approvals where approval_id = ${use.approval.id}`
      const { code, event } = await sign(use, {}, vault).catch((error) => error)
      expect({ code, event }).toMatchObject({
        code: 'approval_ended',
        event: { kind: 'policy_forged', subject: terms.id },
      })
      expect(await usesOf(terms)).toBe(1)
    }
    const journal = await open()
    const vault = await world.another({ journal })
    expect(await codeOf(sign(use, {}, vault))).toBe('resolved')
    await ended(vault)
    await journal.close()
    // What it learned it knows from its journal.
    const later = await open()
    await ended(await world.another({ journal: later }))
    await later.close()
    await rm(folder, { recursive: true })
  })

  const UNAPPROVED = 'asked to sign what was not approved'
  const ONE_USE = 'one use of a policy signs one transaction'

  const others: readonly (readonly [string, object])[] = [
    ['recipient', { to: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC' }],
    ['value', { value: 6n }],
    ['data', { data: '0xabab' }],
    ['contract', { to: undefined }],
  ]

  test.each(someOf(others, 2))('of an eoa wallet does not sign another %s', async (_name, what) => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const use = { wallet, terms, approval: approved(terms, [anna]) }
    expect((await sign(use, what).catch((error) => error)).message).toBe(UNAPPROVED)
    expect([await usesOf(terms), await codeOf(sign(use))]).toEqual([0, 'resolved'])
  })

  const fixed: readonly (readonly [string, unknown])[] = [
    ['nonce', '8'],
    ['gasLimit', '21001'],
    ['maxFeePerGas', '10'],
    ['maxPriorityFeePerGas', '1'],
    ['gasPrice', '9'],
    ['accessList', [{ address: TO, storageKeys: [] }]],
  ]

  test.each(someOf(fixed, 3))('that fixes the %s of a transaction does not sign another value', async (name, value) => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const fixing = (fixed: object) => {
      const request = JSON.stringify({ action: 'send', wallet_type: 'eoa', intents: [{ ...INTENT, ...fixed }] })
      return { wallet, terms, approval: approved(terms, [anna], {}, { request }) }
    }
    expect((await sign(fixing({ [name]: value })).catch((error) => error)).message).toBe(UNAPPROVED)
    const all = { nonce: '7', gasLimit: '21000', maxFeePerGas: '9', maxPriorityFeePerGas: '0' }
    expect([await usesOf(terms), await codeOf(sign(fixing(all)))]).toEqual([0, 'resolved'])
  })

  test('that fixes a gas price and an access list signs these, in lower or upper case, and no others', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const slot = `0x${'aB'.repeat(32)}`
    const intents = [{ ...INTENT, gasPrice: '9', accessList: [{ address: TO, storageKeys: [slot] }] }]
    const request = JSON.stringify({ action: 'sign', wallet_type: 'eoa', intents })
    const use = { wallet, terms, approval: approved(terms, [anna], {}, { request }) }
    const priced = { type: 'eip2930', maxFeePerGas: undefined, gasPrice: 9n }
    const list = (...storageKeys: readonly string[]) => [{ address: TO, storageKeys }]
    const other = `0x${'ab'.repeat(31)}ac`
    for (const accessList of [[], list(), list(other), list(slot, slot), [...list(slot), ...list(slot)]]) {
      expect((await sign(use, { ...priced, accessList }).catch((error) => error)).message).toBe(UNAPPROVED)
    }
    for (const fees of [
      { ...priced, gasPrice: 10n },
      { maxFeePerGas: 10n, maxPriorityFeePerGas: 9n },
    ]) {
      const dearer = sign(use, { ...fees, accessList: list(slot) })
      expect((await dearer.catch((error) => error)).message).toBe(UNAPPROVED)
    }
    expect(await codeOf(sign(use, { ...priced, accessList: list(slot.toLowerCase()) }))).toBe('resolved')
  })

  test('of an eoa wallet signs at several fees for one nonce, and cancels, but nothing for another nonce', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1)
    const own = publicKeyToAddress(`0x${hexOf(wallet.publicKey)}`)
    const request = { wallet, terms, approval: approved(terms, [anna]), credentials: secret, actor: ACTOR }
    const use = async (...payloads: readonly Payload[]) => {
      using key = await world.vault.openKeyByPolicy(request)
      const what = { action: 'transaction_submitted', details: {}, payloads } as const
      return await key.sign({ value: 5n, fee: 1n }, what).then(
        ([signatures]) => signatures?.length,
        (error) => String(error.message),
      )
    }
    expect(await use(payload(), payload({ nonce: 8 }))).toBe(ONE_USE)
    expect(await use(payload({ to: own, value: 0n, data: '0xab' }))).toBe(UNAPPROVED)
    expect(await use(payload({ to: own, value: 1n, data: '0x' }))).toBe(UNAPPROVED)
    const cancel = payload({ to: own, value: 0n, data: '0x' })
    expect(await use(payload(), payload({ maxFeePerGas: 20n }), cancel)).toBe(3)
  })

  test('of a contract wallet signs only the approved calls in their order, as a transaction or as typed data', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1, { type: 'contract' })
    const owner = publicKeyToAddress(`0x${hexOf(wallet.publicKey)}`)
    const safe = deriveContractWallet(owner)
    const [one, two]: readonly Intent[] = [
      { to: TO, value: 1n, input: '0xab' },
      { to: owner, value: 0n, input: '0xab' },
    ]
    if (one === undefined || two === undefined) throw new Error('there are two')
    const text = ({ to, value, input }: Intent) => ({ to, value: String(value), input })
    const request = JSON.stringify({ wallet_type: 'contract', intents: [one, two].map(text) })
    const sent = ({ to, value, input }: Intent) => payload({ to: to ?? undefined, value, data: input })
    const signed = (intents: readonly Intent[]) => deployAndExecute(11_155_111, safe, { intents, gas: 5n })
    const outcome = async (...payloads: readonly Payload[]) => {
      const use = {
        wallet,
        terms,
        approval: approved(terms, [anna], {}, { request }),
        credentials: secret,
        actor: ACTOR,
      }
      using key = await world.vault.openKeyByPolicy(use)
      const details = { action: 'transaction_submitted', details: {}, payloads } as const
      return await key.sign({ value: 0n, fee: 0n }, details).then(
        () => 'signed',
        (error) => error.message,
      )
    }
    for (const intents of [
      [two, one],
      [one],
      [one, two, two],
      [{ ...one, value: 2n }, two],
      [one, { ...two, to: TO }],
    ]) {
      expect(await outcome(sent(execution(safe, intents)))).toBe(UNAPPROVED)
      expect(await outcome(signed(intents).payload)).toBe(UNAPPROVED)
    }
    // Not the wallet's calls, but its key's.
    expect(await outcome(sent(one))).toBe(UNAPPROVED)
    expect(await outcome(sent({ ...execution(safe, [one, two]), value: 1n }))).toBe(UNAPPROVED)
    expect(await outcome(sent(deployment(safe)), sent(execution(safe, [one, two])))).toBe('signed')
    expect(await outcome(signed([one, two]).payload)).toBe('signed')
    expect(await outcome(sent(signed([one, two]).with(new Uint8Array(65))))).toBe('signed')
  })

  test('of a speed-up signs only for the nonce of its transaction', async () => {
    const anna = newPerson()
    const { wallet, terms } = await underApproval([anna], 1, { type: 'contract' })
    const owner = publicKeyToAddress(`0x${hexOf(wallet.publicKey)}`)
    const safe = deriveContractWallet(owner)
    const intent: Intent = { to: TO, value: 1n, input: '0xab' }
    const intents = [{ to: TO, value: '1', input: '0xab' }]
    const { to, input } = execution(safe, [intent])
    const at = (nonce: number) => payload({ to: to ?? undefined, value: 0n, data: input, nonce })
    const outcome = (of: object, what: Payload) => {
      const request = JSON.stringify({ action: 'speed-up', wallet_type: 'contract', intents, ...of })
      return signedBy({ wallet, terms }, approved(terms, [anna], {}, { request }), what)
    }
    const ofSeven = { transaction_id: randomUUID(), signer_nonce: '7' }
    expect(await outcome(ofSeven, at(8))).toBe(UNAPPROVED)
    // Whoever has this signature chooses the nonce.
    const { payload: free } = deployAndExecute(11_155_111, safe, { intents: [intent], gas: 5n })
    expect(await outcome(ofSeven, free)).toBe(UNAPPROVED)
    expect(await outcome({}, at(7))).toBe(UNAPPROVED)
    const cancel = { to: owner, value: 0n, data: '0x' }
    expect(await outcome(ofSeven, payload({ ...cancel, nonce: 8 }))).toBe(UNAPPROVED)
    expect(await outcome(ofSeven, payload({ ...cancel, nonce: 7 }))).toBe('signed')
    expect(await outcome(ofSeven, at(7))).toBe('signed')
  })

  test.each<WalletType>(['eoa', 'contract'])(
    'of typed data of an %s wallet signs this alone, in its form',
    async (type) => {
      const anna = newPerson()
      const typed = (value: unknown, verifyingContract: string = TO) => ({
        domain: { chainId: 11_155_111, verifyingContract },
        types: { Note: [{ name: 'value', type: 'uint256' }] },
        primaryType: 'Note',
        message: { value },
      })
      const rule = (argument: string, value: string) => ({ argument, operator: 'eq' as const, value })
      const argumentRules = [
        rule('typedData.primaryType', 'Note'),
        rule('typedData.verifyingContract', TO.toLowerCase()),
      ]
      const { wallet, terms } = await underApproval([anna], 1, { argumentRules, type })
      const safe = deriveContractWallet(publicKeyToAddress(`0x${hexOf(wallet.publicKey)}`)).address
      const outcome = (of: object, what: Payload) => {
        const request = JSON.stringify({
          ...{ action: 'sign-typed-data', wallet_type: type, intents: [], typed_data: typed('7'), ...of },
        })
        return signedBy({ wallet, terms }, approved(terms, [anna], {}, { request }), what)
      }
      const byKey = (value: unknown): Payload => ({ kind: 'typed_data', typedData: typed(value) })
      const bySafe = (value: unknown): Payload => ({
        kind: 'safe_typed_data',
        chainId: 11_155_111,
        safe,
        typedData: typed(value),
      })
      const own = publicKeyToAddress(`0x${hexOf(wallet.publicKey)}`)
      const [right, wrong] = type === 'eoa' ? [byKey, bySafe] : [bySafe, byKey]
      for (const what of [right('8'), wrong('7'), payload(), payload({ to: own, value: 0n, data: '0x' })]) {
        expect(await outcome({}, what)).toBe(UNAPPROVED)
      }
      const other = type === 'eoa' ? 'contract' : 'eoa'
      expect(await outcome({ wallet_type: other }, right('7'))).toBe(UNAPPROVED)
      expect(await outcome({ wallet_type: other }, wrong('7'))).toContain('policy')
      expect(await outcome({ typed_data: undefined }, right('7'))).toBe(UNAPPROVED)
      // An approval of calls signs no typed data, whatever else is in it.
      expect(await outcome({ action: 'send' }, right('7'))).toBe(UNAPPROVED)
      expect(await usesOf(terms)).toBe(0)
      expect(await outcome({}, right('0x7'))).toBe('signed')
    },
  )
})

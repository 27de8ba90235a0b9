// What a policy has spent is charged under its row's lock, and its MAC is renewed each time.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { PolicyTerms } from '../../db/queries/vault/policies.ts'
import type { OpenPolicies, OperatorVault } from '../../src/vault/contract/vault.ts'
import { KeyClosed, openJournal } from '../../src/vault/rooms/vault.ts'
import { withPolicyKey } from '../support/keys.ts'
import { holdTable, untilWaiting } from '../support/locks.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  EVM_PAYLOAD,
  freezing,
  openWorld,
  SECRET,
  signOneBy,
  type TestWallet,
  tally,
} from './support.ts'

const pin = { userPin: '493817' }
const secret = { developerSecret: SECRET }
const UINT256_MAX = (1n << 256n) - 1n

const world = await shared(openWorld())
const other = await world.another()
const { sql } = world
const projectId = await world.project()

const newWallet = () => world.wallet({ projectId, ownerId: randomUUID(), controlMode: 'user', credentials: pin })
const sharedWallet = await newWallet()

const newPolicy = async (agreed: Partial<PolicyTerms>, wallet: TestWallet = sharedWallet) => {
  return { wallet, terms: await world.policy(wallet, { ...secret, ...pin }, agreed) }
}

type Delegated = { readonly wallet: TestWallet; readonly terms: PolicyTerms }

const charge = ({ wallet, terms }: Delegated, use: { value?: bigint; fee?: bigint; vault?: OperatorVault } = {}) => {
  const { value = 0n, fee = 0n, vault = world.vault } = use
  return withPolicyKey(vault, { wallet, credentials: secret, actor: ACTOR, terms }, (key) =>
    signOneBy(key, { value, fee }),
  )
}

const spent = async ({ terms }: Delegated) => {
  const [row] = await sql`select uses::int, spent_value, spent_fee from policies where id = ${terms.id}`
  return [row?.uses, row?.spent_value, row?.spent_fee]
}

const AT_ONCE = isLong ? 100 : 8

describe('many uses at once, over two processes, exceed', () => {
  const atOnce = (of: Delegated, use: { value?: bigint; fee?: bigint }) =>
    tally(Array.from({ length: AT_ONCE }, (_, index) => charge(of, { ...use, vault: index % 2 ? other : world.vault })))

  test('no limit of uses', async () => {
    const of = await newPolicy({ maxUses: 7 })
    expect(await atOnce(of, {})).toEqual({ resolved: 7, policy_denied: AT_ONCE - 7 })
    expect(await spent(of)).toEqual([7, '0', '0'])
  })

  test('no limit of value, to the last wei', async () => {
    const of = await newPolicy({ maxTotalValue: 20n })
    expect(await atOnce(of, { value: 3n })).toEqual({ resolved: 6, policy_denied: AT_ONCE - 6 })
    expect(await codeOf(charge(of, { value: 3n }))).toBe('policy_denied')
    expect(await codeOf(charge(of, { value: 2n }))).toBe('resolved')
    expect(await spent(of)).toEqual([7, '20', '0'])
  })

  test('no fee budget, to the last wei', async () => {
    const of = await newPolicy({ maxTotalFee: 20n })
    expect(await atOnce(of, { fee: 3n })).toEqual({ resolved: 6, policy_denied: AT_ONCE - 6 })
    expect(await codeOf(charge(of, { fee: 2n }))).toBe('resolved')
    expect(await spent(of)).toEqual([7, '0', '20'])
  })
})

test('without a limit of value any sum is allowed', async () => {
  const of = await newPolicy({})
  for (const value of [UINT256_MAX, 5n, UINT256_MAX]) expect(await codeOf(charge(of, { value }))).toBe('resolved')
  expect(await spent(of)).toEqual([3, String(UINT256_MAX), '0'])
})

test('a policy that ends while its key is open is not charged', async () => {
  const of = await newPolicy({ expiresAt: new Date(Date.now() + 3_600_000) })
  expect(await codeOf(charge(of))).toBe('resolved')
  const over = await newPolicy({ expiresAt: new Date(Date.now() - 1) })
  expect(await codeOf(charge(over))).toBe('policy_denied')
  expect([await spent(of), await spent(over)]).toEqual([
    [1, '0', '0'],
    [0, '0', '0'],
  ])
})

test('what somebody sets back while a key is open is found by the charge', async () => {
  const of = await newPolicy({ maxUses: 1 })
  const { wallet, terms } = of
  expect(await codeOf(charge(of))).toBe('resolved')
  const second = await newPolicy({ maxUses: 2 })
  expect(await codeOf(charge(second))).toBe('resolved')
  const request = { ...second, credentials: secret, actor: ACTOR }
  const late = withPolicyKey(world.vault, request, async (key) => {
    await sql`update policies set uses = 0 where id = ${second.terms.id}`
    await signOneBy(key)
  })
  await expect(late).rejects.toMatchObject({
    code: 'policy_denied',
    event: { kind: 'policy_forged', projectId, actor: ACTOR, subject: second.terms.id },
  })
  expect(await spent(second)).toEqual([0, '0', '0'])
  // Terms that the owner did not agree to open nothing, whatever the row says.
  const more = { wallet, terms: { ...terms, maxUses: 2 } }
  expect(await codeOf(charge(more))).toBe('policy_denied')
  await sql`update policies set max_uses = 2 where id = ${terms.id}`
  expect(await codeOf(charge(more))).toBe('policy_denied')
  expect(await spent(of)).toEqual([1, '0', '0'])
  await sql`update policies set max_uses = 1 where id = ${terms.id}`
})

test('a key is not lent if what was spent was set back, or if the policy was revoked', async () => {
  const of = await newPolicy({ maxUses: 3 })
  await charge(of)
  const { id } = of.terms
  let lent = 0
  const lend = () =>
    withPolicyKey(world.vault, { ...of, credentials: secret, actor: ACTOR }, async () => {
      lent += 1
    })
  await sql`update policies set uses = 0 where id = ${id}`
  await expect(lend()).rejects.toMatchObject({ event: { kind: 'policy_forged', subject: id } })
  // Its lock is still there.
  await sql`update policies set uses = 1, revoked_at = now() where id = ${id}`
  await expect(lend()).rejects.toMatchObject({ code: 'policy_denied', event: null })
  expect(lent).toBe(0)
  await sql`update policies set revoked_at = null where id = ${id}`
  await lend()
  expect(lent).toBe(1)
})

test('a key that was closed charges nothing', async () => {
  const of = await newPolicy({})
  const request = { ...of, credentials: secret, actor: ACTOR }
  const kept = await withPolicyKey(world.vault, request, async (key) => key)
  await expect(signOneBy(kept)).rejects.toThrow('after it was closed')
  expect(await spent(of)).toEqual([0, '0', '0'])
})

describe('policies that were opened for one use', () => {
  const opened = ({ wallet }: Pick<Delegated, 'wallet'>, vault = world.vault) =>
    vault.openPolicies({ wallet, credentials: secret, actor: ACTOR, limit: 9 })
  const signBy = (policies: OpenPolicies, { terms }: Pick<Delegated, 'terms'>, value = 0n) =>
    policies.sign(
      { policyId: terms.id, spends: { value, fee: 0n } },
      { action: 'transaction_signed', details: {}, payloads: [EVM_PAYLOAD] },
    )

  test('exceed no limit, however many were opened before the first was charged', async () => {
    const of = await newPolicy({ maxTotalValue: 20n }, await newWallet())
    const all = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, index) => opened(of, index % 2 ? other : world.vault)),
    )
    expect(await tally(all.map((policies) => signBy(policies, of, 3n)))).toEqual({
      resolved: 6,
      policy_denied: AT_ONCE - 6,
    })
    expect(await spent(of)).toEqual([6, '18', '0'])
  })

  test('sign once, and not after their end', async () => {
    const of = await newPolicy({}, await newWallet())
    using policies = await opened(of)
    expect(policies.policies).toEqual([expect.objectContaining({ ...of.terms, uses: 0, isExpired: false })])
    const both = await Promise.allSettled([signBy(policies, of), signBy(policies, of)])
    expect(both).toMatchObject([{ status: 'fulfilled' }, { reason: new KeyClosed() }])
    const closed = await opened(of)
    closed[Symbol.dispose]()
    await expect(signBy(closed, of)).rejects.toThrow(KeyClosed)
    expect(await spent(of)).toEqual([1, '0', '0'])
  })

  test('sign by none that was revoked or set back meanwhile, or that is not as its owner made it', async () => {
    const forged = (id: string) => ({ event: { kind: 'policy_forged', projectId, actor: ACTOR, subject: id } })
    const ended = { code: 'policy_denied', event: null }
    const change = async (of: Delegated, edit: () => Promise<unknown>) => {
      using before = await opened(of)
      await edit()
      using after = await opened(of)
      return await Promise.allSettled([signBy(before, of), signBy(after, of)])
    }
    const wallet = await newWallet()
    const revoked = await newPolicy({}, wallet)
    const { terms } = revoked
    const revoke = () => world.vault.revokePolicy({ wallet, credentials: pin, actor: ACTOR, policyId: terms.id })
    expect(await change(revoked, revoke)).toMatchObject([{ reason: ended }, { reason: { name: 'KeyClosed' } }])
    const back = await newPolicy({}, wallet)
    await charge(back)
    const setBack = () => sql`update policies set uses = 0 where id = ${back.terms.id}`
    expect(await change(back, setBack)).toMatchObject([
      { reason: forged(back.terms.id) },
      { reason: forged(back.terms.id) },
    ])
    const edited = await newPolicy({ maxUses: 1 }, wallet)
    const edit = () => sql`update policies set max_uses = 9 where id = ${edited.terms.id}`
    expect(await change(edited, edit)).toMatchObject([{ status: 'fulfilled' }, { reason: forged(edited.terms.id) }])
    await sql`update policies set max_uses = 1 where id = ${edited.terms.id}`
    const unlocked = await newPolicy({}, wallet)
    const unlock = () => sql`delete from policy_locks where policy_id = ${unlocked.terms.id}`
    expect(await change(unlocked, unlock)).toMatchObject([{ status: 'fulfilled' }, { reason: ended }])
    expect([await spent(back), await spent(edited), await spent(unlocked)]).toEqual([
      [0, '0', '0'],
      [1, '0', '0'],
      [1, '0', '0'],
    ])
  })

  test('need the developer secret and a wallet that is not frozen, and sign by no policy of another wallet', async () => {
    const [of, another] = [await newPolicy({}, await newWallet()), await newPolicy({})]
    const { wallet } = of
    const wrong = { wallet, credentials: { developerSecret: 'wrong' }, actor: ACTOR, limit: 9 }
    expect(await codeOf(world.vault.openPolicies(wrong))).toBe('INVALID_SECRET')
    expect(await codeOf(world.vault.openPolicies({ ...wrong, credentials: pin }))).toBe('credential_required')
    using policies = await opened(of)
    expect(await codeOf(signBy(policies, another))).toBe('policy_denied')
    const release = await freezing(world, wallet)
    expect(await codeOf(world.vault.openPolicies(wrong))).toBe('frozen')
    await release()
    expect([await spent(of), await spent(another)]).toEqual([
      [0, '0', '0'],
      [0, '0', '0'],
    ])
  })
})

longTest('policies and what they spent go on after a rotation of the project’s key, in every process', async () => {
  const before = await newPolicy({ maxUses: 5 })
  await charge(before)
  const rotate = () => world.vault.rotateProjectKey({ projectId, resume: false, actor: 'operator' })
  expect(await rotate()).toMatchObject({ version: 2, broken: { rows: 0 } })
  const after = await newPolicy({ maxUses: 5 })
  await rotate()
  for (const vault of [world.vault, other, await world.another()]) {
    for (const of of [before, after]) expect(await codeOf(charge(of, { vault }))).toBe('resolved')
  }
  expect([await spent(before), await spent(after)]).toEqual([
    [4, '0', '0'],
    [3, '0', '0'],
  ])
})

longTest('a rotation leaves the lock of an edited policy as it is, and names it', async () => {
  const { terms } = await newPolicy({ maxUses: 5 })
  await sql`update policies set max_uses = 6 where id = ${terms.id}`
  const [lock] = await sql`select id, sealed from policy_locks where policy_id = ${terms.id}`
  const rotated = await world.vault.rotateProjectKey({
    projectId,
    resume: false,
    actor: 'operator',
  })
  expect(rotated.broken.first).toContain(`policy_lock ${lock?.id}`)
  expect(await sql`select id, sealed from policy_locks where policy_id = ${terms.id}`).toEqual([lock] as never)
})

describe('the audit tells of a use that was set back, whatever the API says of it:', () => {
  const said = [
    { action: 'message_signed', details: {} },
    { action: 'transaction_submitted', details: { kind: 'deployment' } },
    { action: 'transaction_signed', details: { policy_uses: '0', policy: 'another' } },
  ] as const

  test.each(someOf(said, 3))('%p', async (use) => {
    const of = await newPolicy({}, await newWallet())
    const [before] = await sql`select uses, spent_value, spent_fee, mac from policies where id = ${of.terms.id}`
    const request = { wallet: of.wallet, credentials: secret, actor: ACTOR, terms: of.terms }
    using key = await world.vault.openKeyByPolicy(request)
    // The second is more of the same use.
    for (let signs = 0; signs < 2; signs += 1) {
      await key.sign({ value: 0n, fee: 0n }, { ...use, payloads: [EVM_PAYLOAD] }, { ...use, payloads: [EVM_PAYLOAD] })
    }
    const troubles = async () =>
      (await world.vault.forgedRows({ projectId })).forged.flatMap(({ id, trouble }) =>
        id === of.terms.id ? [trouble] : [],
      )
    expect([(await spent(of))[0], await troubles()]).toEqual([1, []])
    await sql`update policies set ${sql(before ?? {})} where id = ${of.terms.id}`
    expect(await troubles()).toEqual(['the audit has more uses'])
  })

  test('a use after the end of its policy', async () => {
    const { terms } = await newPolicy({})
    const [used] = await sql`
      select project_id, at, actor, action, subject, details, mac from audit where details->>'policy' = ${terms.id} limit 1`
    const troubles = async () =>
      (await world.vault.forgedRows({ projectId })).forged.flatMap(({ id, trouble }) =>
        id === terms.id ? [trouble] : [],
      )
    // As if a clock of the database had been late.
    const details = { policy: terms.id, policy_uses: '1' }
    const use = { ...used, action: 'transaction_signed', details }
    await sql`update policies set uses = 2, expires_at = ${used?.at}::timestamptz + interval '1 hour' where id = ${terms.id}`
    await sql`insert into audit ${sql({ ...use, at: new Date(used?.at.getTime() + 3_600_000) } as never)}`
    expect(await troubles()).not.toContain('the audit has a use after its end')
    await sql`insert into audit ${sql({ ...use, at: new Date(used?.at.getTime() + 3_640_000) } as never)}`
    expect(await troubles()).toContain('the audit has a use after its end')
  })

  longTest('a signature with another credential is no use of a policy that it names', async () => {
    const { wallet, terms } = await newPolicy({}, await newWallet())
    const details = { policy: terms.id, policy_uses: '1' }
    using key = await world.vault.openKey({ wallet, credentials: pin, actor: ACTOR })
    await key.sign({ action: 'transaction_signed', details, payloads: [EVM_PAYLOAD] })
    expect((await world.vault.forgedRows({ projectId })).forged.filter(({ id }) => id === terms.id)).toEqual([])
    expect(await sql`select from audit where details->>'policy_uses' = '1' and subject = ${wallet.id}`).toHaveLength(0)
  })
})

longTest('a vault with a journal does not take a use for forged that began while another one was charged', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'strongroom-spending-'))
  const { db } = world
  const onLost = () => {}
  const settings = {
    db,
    paths: [join(folder, 'journal')],
    key: new Uint8Array(32).fill(9),
    now: () => new Date(),
    onLost,
  }
  const journal = await openJournal(settings)
  const vault = await world.another({ journal })
  const of = await newPolicy({})
  const request = { ...of, credentials: secret, actor: ACTOR }
  using first = await vault.openKeyByPolicy(request)
  await using release = await holdTable(sql, 'wallet_keys', 'access exclusive')
  // It has read what the policy has spent, and waits for the wallet's key.
  const second = charge(of, { vault })
  await untilWaiting(sql)
  await signOneBy(first)
  expect(journal.floorOf('policies', [of.terms.id])).toBe(1)
  await release()
  expect(await codeOf(second)).toBe('resolved')
  expect(await spent(of)).toEqual([2, '0', '0'])
  await journal.close()
  await rm(folder, { recursive: true })
})

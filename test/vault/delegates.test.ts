// Authorisations of EIP-7702: only for contracts that an operator named, whatever is written into the database, and
// only with the credentials of all who control the wallet.

import { describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { hashAuthorization, recoverAuthorizationAddress } from 'viem/utils'
import type { WalletRow } from '../../db/queries/vault/keyrings.ts'
import { AppError } from '../../src/platform/errors.ts'
import type { Credentials } from '../../src/vault/contract/required-credentials.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { openJournal } from '../../src/vault/rooms/vault.ts'
import { longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import { ACTOR, codeOf, freezing, hexOf, NOW, openWorld, SECRET, type TestWallet } from './support.ts'

const PIN = '493817'
const secret = { developerSecret: SECRET }
const network = 'Ethereum'
const CHAIN_ID = 11_155_111
const DELEGATE = `0x${'Ab'.repeat(20)}`
const OTHER = `0x${'cd'.repeat(20)}`
const ZERO = `0x${'0'.repeat(40)}`
const REFUSED = 'delegate_not_allowed'

const world = await shared(openWorld())
const { sql } = world

const newWallet = async (input: { projectId?: string; controlMode?: 'developer' | 'user' } = {}) =>
  world.wallet({
    projectId: input.projectId ?? (await world.project()),
    ownerId: randomUUID(),
    controlMode: input.controlMode ?? 'developer',
    credentials: input.controlMode === 'user' ? { userPin: PIN } : secret,
  })

type Changed = { readonly network?: string; readonly address?: string; readonly vault?: OperatorVault }

const change = (is: 'add' | 'remove', projectId: string, { vault = world.vault, ...of }: Changed = {}) =>
  vault.changeDelegates({ projectId, network, address: DELEGATE, ...of, change: is, actor: 'operator' })

type Signing = {
  readonly delegate?: string
  readonly credentials?: Credentials
  readonly nonce?: number
  readonly vault?: OperatorVault
}

const sign = (wallet: WalletRow, { vault = world.vault, delegate = DELEGATE, nonce = 0, credentials }: Signing = {}) =>
  vault.signAuthorization({ wallet, credentials: credentials ?? secret, actor: ACTOR, delegate, nonce })

const errorOf = async (promise: Promise<unknown>): Promise<AppError> => {
  const error = await promise.catch((thrown: unknown) => thrown)
  if (error instanceof AppError) return error
  throw error
}

const listOf = async (projectId: string) =>
  (await world.vault.listDelegates({ projectId })).map(({ network: of, address }) => `${of} ${address}`)

const troublesOf = async (projectId: string) =>
  (await world.vault.forgedRows({ projectId })).forged.map(({ table, id, trouble }) => [
    table,
    id === projectId,
    trouble,
  ])

const lower = DELEGATE.toLowerCase()

describe('an authorisation', () => {
  test('is signed for a delegate that the project names, and is in the audit first', async () => {
    const wallet = await newWallet()
    expect(await codeOf(sign(wallet))).toBe(REFUSED)
    expect(await change('add', wallet.projectId)).toEqual([{ network, address: lower }])
    for (const delegate of someOf([DELEGATE, lower], 2)) {
      const signature = await sign(wallet, { delegate, nonce: 7 })
      const [r, s] = [signature.subarray(0, 32), signature.subarray(32, 64)].map((part) => `0x${hexOf(part)}` as const)
      const authorization = { chainId: CHAIN_ID, address: `0x${lower.slice(2)}`, nonce: 7 } as const
      const signed = { ...authorization, r: r ?? '0x', s: s ?? '0x', yParity: signature[64] ?? 9 }
      expect(await recoverAuthorizationAddress({ authorization: signed })).toBe(wallet.address as `0x${string}`)
      const [row] = await sql`select details, actor from audit
        where action = 'authorization_signed' and subject = ${wallet.id} order by id desc limit 1`
      const hash = hashAuthorization(authorization)
      const facts = { network, chain_id: String(CHAIN_ID), delegate: lower, nonce: '7', hash }
      expect({ ...row }).toEqual({ details: facts, actor: ACTOR })
    }
  })

  test('is signed for nothing else: another contract, network or project', async () => {
    const wallet = await newWallet()
    const other = await newWallet()
    await change('add', wallet.projectId, { network: 'Base' })
    expect(await codeOf(sign(wallet))).toBe(REFUSED)
    await change('add', wallet.projectId)
    expect(await codeOf(sign(wallet))).toBe('resolved')
    expect(await codeOf(sign(wallet, { delegate: OTHER }))).toBe(REFUSED)
    expect(await codeOf(sign(other))).toBe(REFUSED)
  })

  test('that ends a delegation needs no name', async () => {
    expect(await codeOf(sign(await newWallet(), { delegate: ZERO }))).toBe('resolved')
  })

  test('is not signed after the delegate was removed', async () => {
    const wallet = await newWallet()
    const { projectId } = wallet
    await change('add', projectId)
    await change('add', projectId, { address: OTHER })
    expect(await change('remove', projectId, { address: lower })).toEqual([{ network, address: OTHER }])
    expect([await codeOf(sign(wallet)), await codeOf(sign(wallet, { delegate: OTHER }))]).toEqual([REFUSED, 'resolved'])
  })

  test('needs the credentials of all who control the wallet, and no policy gives one', async () => {
    const user = await newWallet({ controlMode: 'user' })
    const { projectId, ownerId } = user
    await change('add', projectId)
    expect(await codeOf(sign(user))).toBe('credential_required')
    await world.policy(user, { userPin: PIN })
    expect(await codeOf(sign(user))).toBe('credential_required')
    expect(await codeOf(sign(user, { credentials: { userPin: '000000' } }))).toBe('INVALID_SECRET')
    expect(await codeOf(sign(user, { credentials: { userPin: PIN } }))).toBe('resolved')
    const both = { ...secret, userPin: PIN }
    const shared = await world.wallet({
      ...{ projectId, ownerId, network: 'Base', controlMode: 'developer', credentials: both },
    })
    await change('add', projectId, { network: 'Base' })
    expect(await codeOf(sign(shared))).toBe('credential_required')
    expect(await codeOf(sign(shared, { credentials: both }))).toBe('resolved')
    const developers = await newWallet({ projectId })
    await world.vault.putUnderPolicies({ wallet: developers, credentials: secret, actor: ACTOR })
    expect(await codeOf(sign(developers))).toBe('under_policies')
  })

  test('of a refused delegate costs no guess', async () => {
    const user = await newWallet({ controlMode: 'user' })
    expect(await codeOf(sign(user, { credentials: { userPin: '000000' } }))).toBe(REFUSED)
    const [row] = await sql`select total from pin_guesses where owner_id = ${user.ownerId}`
    expect(row?.total).toBe(0)
  })

  test('is refused for a contract wallet, on a Substrate network and while frozen', async () => {
    const wallet = await newWallet()
    await change('add', wallet.projectId)
    const of = { projectId: wallet.projectId, ownerId: randomUUID(), controlMode: 'developer' } as const
    const contract = await world.wallet({ ...of, ownerId: randomUUID(), credentials: secret, type: 'contract' })
    expect(await codeOf(sign(contract))).toBe('invalid_input')
    const polkadot = await world.wallet({ ...of, credentials: secret, network: 'Polkadot' })
    expect(await codeOf(sign(polkadot, { delegate: ZERO }))).toBe('invalid_input')
    await freezing(world, wallet)
    expect(await codeOf(sign(wallet))).toBe('frozen')
  })
})

describe('the list of a project', () => {
  test('is in order, has each delegate once, and the audit has each state of it', async () => {
    const projectId = await world.project()
    await change('add', projectId, { address: OTHER })
    await change('add', projectId)
    await change('add', projectId, { address: lower })
    expect(await listOf(projectId)).toEqual([`${network} ${lower}`, `${network} ${OTHER}`])
    await change('remove', projectId, { address: OTHER })
    const rows = await sql`select details, actor, subject from audit
      where action = 'delegates_changed' and project_id = ${projectId} order by id`
    expect(rows.map(({ details }) => details)).toEqual([
      { added: `${network} ${OTHER}`, delegates: `${network} ${OTHER}`, list_version: '1' },
      { added: `${network} ${lower}`, delegates: `${network} ${lower}, ${network} ${OTHER}`, list_version: '2' },
      { removed: `${network} ${OTHER}`, delegates: `${network} ${lower}`, list_version: '3' },
    ])
    expect(rows.map(({ actor, subject }) => [actor, subject === projectId])).toEqual(Array(3).fill(['operator', true]))
    expect(await troublesOf(projectId)).toEqual([])
  })

  test('is empty at first, and refuses what is no contract of an EVM network', async () => {
    const projectId = await world.project()
    expect(await listOf(projectId)).toEqual([])
    for (const of of [{ network: 'Polkadot' }, { address: ZERO }, { address: '0x12' }, { address: `${DELEGATE}00` }]) {
      expect(await codeOf(change('add', projectId, of))).toBe('invalid_input')
    }
    expect(await codeOf(change('remove', projectId))).toBe('invalid_input')
    expect(await codeOf(change('add', randomUUID()))).toBe('not_found')
    expect(await listOf(projectId)).toEqual([])
  })

  longTest('has at most 100', async () => {
    const projectId = await world.project()
    const nth = (index: number) => ({ address: `0x${index.toString(16).padStart(40, '0')}` })
    for (let index = 1; index <= 100; index += 1) await change('add', projectId, nth(index))
    expect(await codeOf(change('add', projectId, nth(101)))).toBe('invalid_input')
    expect(await codeOf(change('add', projectId, nth(100)))).toBe('resolved')
    expect(await listOf(projectId)).toHaveLength(100)
  })

  test('keeps all of several changes at the same time, also by another vault', async () => {
    const projectId = await world.project()
    const other = await world.another()
    const addresses = Array.from({ length: 3 }, (_, index) => `0x${String(index + 1).repeat(40)}`)
    const change1 = (address: string, index: number) =>
      change('add', projectId, { address, vault: index % 2 === 0 ? other : world.vault })
    await Promise.all(addresses.map(change1))
    expect(await listOf(projectId)).toEqual(addresses.map((address) => `${network} ${address}`))
  })

  longTest('is valid and can be changed after the project’s key was rotated', async () => {
    const wallet = await newWallet()
    const { projectId } = wallet
    await change('add', projectId)
    await world.vault.rotateProjectKey({ projectId, actor: 'operator', resume: false })
    expect(await codeOf(sign(wallet))).toBe('resolved')
    await change('add', projectId, { address: OTHER })
    expect(await codeOf(sign(wallet, { delegate: OTHER }))).toBe('resolved')
    expect(await troublesOf(projectId)).toEqual([])
  })
})

describe('who can write to the database', () => {
  const NOT_AS_WRITTEN = 'it is not as it was written'

  const forgedEvent = (projectId: string) =>
    ({ kind: 'delegates_forged', projectId, actor: ACTOR, subject: projectId }) as const

  const expectForged = async (wallet: TestWallet, delegate = DELEGATE) => {
    const { projectId } = wallet
    const { code, event } = await errorOf(sign(wallet, { delegate }))
    expect([code, event]).toEqual([REFUSED, forgedEvent(projectId)])
    expect(await troublesOf(projectId)).toContainEqual(['delegate_lists', true, NOT_AS_WRITTEN])
    expect(await codeOf(change('add', projectId, { address: OTHER }))).toBe('invalid_input')
    expect(await codeOf(world.vault.listDelegates({ projectId }))).toBe('invalid_input')
  }

  test('cannot add a list', async () => {
    const wallet = await newWallet()
    await sql`insert into delegate_lists (project_id, delegates, version, mac)
      values (${wallet.projectId}, ${sql.array([`${network} ${lower}`])}, 1, ${Buffer.alloc(36)})`
    await expectForged(wallet)
  })

  test('cannot add a delegate, nor take the list of another project', async () => {
    const wallet = await newWallet()
    const { projectId } = wallet
    await change('add', projectId, { address: OTHER })
    await sql`update delegate_lists set delegates = array_append(delegates, ${`${network} ${lower}`})
      where project_id = ${projectId}`
    await expectForged(wallet)
    const donor = await world.project()
    await change('add', donor)
    await sql`update delegate_lists l set delegates = d.delegates, version = d.version, mac = d.mac
      from delegate_lists d where l.project_id = ${projectId} and d.project_id = ${donor}`
    await expectForged(wallet)
    // As the error says.
    await sql`delete from delegate_lists where project_id = ${projectId}`
    expect(await troublesOf(projectId)).toEqual([['delegate_lists', true, 'the audit names it, and it is gone']])
    await change('add', projectId, { address: OTHER })
    expect(await codeOf(sign(wallet, { delegate: OTHER }))).toBe('resolved')
    expect(await troublesOf(projectId)).toEqual([])
  })

  test('is named if they write an earlier list back, and a vault with a journal does not use it', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'strongroom-delegates-'))
    const journal = await openJournal({
      ...{ db: world.db, paths: [join(folder, 'journal')], key: new Uint8Array(32).fill(9), now: () => NOW },
      onLost: (error) => {
        throw error
      },
    })
    try {
      const vault = await world.another({ journal })
      const wallet = await newWallet()
      const { projectId } = wallet
      await change('add', projectId, { vault })
      const [earlier] = await sql`select delegates, version, mac from delegate_lists where project_id = ${projectId}`
      await change('remove', projectId, { vault })
      await sql`update delegate_lists set ${sql({ ...earlier })} where project_id = ${projectId}`
      const { code, event } = await errorOf(sign(wallet, { vault }))
      expect([code, event]).toEqual([REFUSED, forgedEvent(projectId)])
      const trouble = 'the audit has a later version of it'
      expect(await troublesOf(projectId)).toEqual([['delegate_lists', true, trouble]])
      await sql`update delegate_lists set version = 3 where project_id = ${projectId}`
      expect(await codeOf(sign(wallet))).toBe(REFUSED)
      expect(await troublesOf(projectId)).toEqual([['delegate_lists', true, NOT_AS_WRITTEN]])
    } finally {
      await journal.close()
      rmSync(folder, { recursive: true })
    }
  })

  longTest('is named if they write an earlier list back, and a vault that has just started changes it', async () => {
    const { projectId } = await newWallet()
    await change('add', projectId)
    const [earlier] = await sql`select delegates, version, mac from delegate_lists where project_id = ${projectId}`
    await change('remove', projectId)
    await sql`update delegate_lists set ${sql({ ...earlier })} where project_id = ${projectId}`
    await change('add', projectId, { address: OTHER, vault: await world.another() })
    expect(await troublesOf(projectId)).toEqual([['delegate_lists', true, 'the audit has a version of it twice']])
  })

  test('is named if they do the same with a list of freezes', async () => {
    const { projectId, id: subject } = await newWallet()
    const of = { projectId, scope: 'wallet', subject, reason: 'a test', actor: 'operator' } as const
    await world.vault.changeFreezes({ ...of, change: 'freeze' })
    const [earlier] = await sql`select freezes, version, mac from freeze_lists where id = ${projectId}`
    await world.vault.changeFreezes({ ...of, change: 'unfreeze' })
    await sql`update freeze_lists set ${sql({ ...earlier })} where id = ${projectId}`
    expect(await (await world.another()).changeFreezes({ ...of, change: 'unfreeze' })).toBe(true)
    expect(await troublesOf(projectId)).toEqual([['freeze_lists', true, 'the audit has a version of it twice']])
  })

  test('cannot have an earlier list count as a later one, by deleting its row and the audit rows of it', async () => {
    const wallet = await newWallet()
    const { projectId } = wallet
    await change('add', projectId)
    await change('remove', projectId)
    await change('add', projectId)
    const [earlier] = await sql`select delegates, version, mac from delegate_lists where project_id = ${projectId}`
    await sql.begin(async (tx) => {
      await tx`set local session_replication_role = replica`
      await tx`delete from audit where project_id = ${projectId} and action = 'delegates_changed'`
      await tx`delete from delegate_lists where project_id = ${projectId}`
    })
    await change('add', projectId, { address: OTHER })
    expect(await codeOf(sign(wallet, { delegate: OTHER }))).toBe('resolved')
    const [row] = await sql`select version from delegate_lists where project_id = ${projectId}`
    expect(row).toEqual({ version: 4 })
    await sql`update delegate_lists set ${sql({ ...earlier })} where project_id = ${projectId}`
    const { code, event } = await errorOf(sign(wallet))
    expect([code, event]).toEqual([REFUSED, forgedEvent(projectId)])
  })

  test('with the role of an API cannot even read it', async () => {
    const read = async () => world.api.execute('select from delegate_lists')
    await expect(read()).rejects.toThrow()
  })
})

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { verify as verifySr25519 } from '@scure/sr25519'
import { sql } from 'drizzle-orm'
import { insertProject } from '../../db/queries/projects.ts'
import { insertWallet } from '../../db/queries/wallets.ts'
import type { ControlMode, Network } from '../../db/words.ts'
import { TESTNET_DEVELOPER_SECRET } from '../../src/vault/contract/contract.ts'
import type { OperatorVault } from '../../src/vault/contract/vault.ts'
import { withKey } from '../support/keys.ts'
import { isLong, longTest, someOf } from '../support/long.ts'
import { shared } from '../support/shared.ts'
import {
  ACTOR,
  codeOf,
  hexOf,
  NO_MAC,
  openWorld,
  publicKeyOfPhrase,
  SECRET,
  SUBSTRATE_BYTES,
  SUBSTRATE_PAYLOAD,
  signOne,
  textsOf,
  type VaultWorld,
  type WalletInput,
} from './support.ts'
import { ANVIL } from './vectors.ts'

const PIN = '493817'
const GIVEN = {
  nothing: {},
  secret: { developerSecret: SECRET },
  pin: { userPin: PIN },
  both: { developerSecret: SECRET, userPin: PIN },
} as const
type Given = keyof typeof GIVEN

const world = await shared(openWorld())
const other = await world.another()
const projectId = await world.project()

type Had =
  | 'nothing'
  | 'a developer lock'
  | 'a user lock'
  | 'both locks, the user’s first'
  | 'both locks, the developer’s first'

/** The states in which an owner may be before. */
const OWNERS: Record<Had, () => Promise<string>> = {
  nothing: async () => randomUUID(),
  'a developer lock': async () => {
    const ownerId = randomUUID()
    await world.wallet({ projectId, ownerId, controlMode: 'developer', credentials: GIVEN.secret })
    return ownerId
  },
  'a user lock': async () => {
    const ownerId = randomUUID()
    await world.wallet({ projectId, ownerId, controlMode: 'user', credentials: GIVEN.pin })
    return ownerId
  },
  'both locks, the user’s first': async () => {
    const ownerId = await OWNERS['a user lock']()
    const network = 'Base'
    await world.wallet({ projectId, ownerId, controlMode: 'developer', credentials: GIVEN.both, network })
    return ownerId
  },
  'both locks, the developer’s first': async () => {
    const ownerId = await OWNERS['a developer lock']()
    await world.wallet({ projectId, ownerId, controlMode: 'user', credentials: GIVEN.both, network: 'Base' })
    return ownerId
  },
}

const counts = async (ownerId: string) => {
  const {
    rows: [row],
  } = await world.db.execute(sql`select
    (select count(*)::int from keyrings where owner_id = ${ownerId}) as keyrings,
    (select count(*)::int from owner_locks l join keyrings k on k.id = l.keyring_id where k.owner_id = ${ownerId}) as locks,
    (select count(*)::int from user_keys where owner_id = ${ownerId}) as user_keys,
    (select count(*)::int from pin_guesses where owner_id = ${ownerId}) as guesses,
    (select count(*)::int from wallets where owner_id = ${ownerId}) as wallets,
    (select count(*)::int from wallet_keys w join keyrings k on k.id = w.keyring_id where k.owner_id = ${ownerId}) as wallet_keys,
    (select count(*)::int from audit a join wallet_keys w on w.wallet_id::text = a.subject
      join keyrings k on k.id = w.keyring_id where k.owner_id = ${ownerId}) as audit`)
  return { ...row }
}

const guesses = async (ownerId: string) => {
  const {
    rows: [row],
  } = await world.db.execute(sql`select fails, total from pin_guesses where owner_id = ${ownerId}`)
  return row === undefined ? null : { ...row }
}

const requires = 'credential_required'
const ambiguous = 'credential_ambiguous'
const MATRIX: Record<Had, Record<ControlMode, Record<Given, string>>> = {
  nothing: {
    developer: { nothing: requires, secret: 'made', pin: requires, both: ambiguous },
    user: { nothing: requires, secret: requires, pin: 'made', both: ambiguous },
  },
  'a developer lock': {
    developer: { nothing: requires, secret: 'made', pin: requires, both: ambiguous },
    user: { nothing: requires, secret: requires, pin: requires, both: 'made' },
  },
  'a user lock': {
    developer: { nothing: requires, secret: requires, pin: requires, both: 'made' },
    user: { nothing: requires, secret: requires, pin: 'made', both: ambiguous },
  },
  'both locks, the user’s first': {
    developer: { nothing: requires, secret: 'made', pin: requires, both: ambiguous },
    user: { nothing: requires, secret: requires, pin: 'made', both: ambiguous },
  },
  'both locks, the developer’s first': {
    developer: { nothing: requires, secret: 'made', pin: requires, both: ambiguous },
    user: { nothing: requires, secret: requires, pin: 'made', both: ambiguous },
  },
}

const cases = Object.entries(MATRIX).flatMap(([had, modes]) =>
  Object.entries(modes).flatMap(([mode, answers]) =>
    Object.entries(answers).map(([given, expected]) => ({ had, mode, given, expected })),
  ),
) as { had: Had; mode: ControlMode; given: Given; expected: string }[]

/** In the suite each credential for a keyring that the other mode controls, and both where one is enough. */
const shown = cases.filter(
  ({ had, mode, given }) =>
    isLong ||
    (had === 'a developer lock' && mode === 'user') ||
    (had === 'a user lock' && mode === 'developer') ||
    (had === 'nothing' && mode === 'developer' && given === 'both'),
)

const refusedOwners = new Map<Had, Promise<string>>()
/** One owner of each state for what is refused, which leaves everything as it is. */
const refusedOwner = (had: Had): Promise<string> => {
  const owner = refusedOwners.get(had) ?? OWNERS[had]()
  refusedOwners.set(had, owner)
  return owner
}

describe('a wallet', () => {
  test.each(shown)('in $mode mode for an owner with $had, with $given: $expected', async (row) => {
    const ownerId = await (row.expected === 'made' ? OWNERS[row.had]() : refusedOwner(row.had))
    const before = { counts: await counts(ownerId), guesses: await guesses(ownerId) }
    const input = {
      projectId,
      ownerId,
      controlMode: row.mode,
      credentials: GIVEN[row.given],
      network: 'Avalanche',
    } as const
    if (row.expected !== 'made') {
      expect(await codeOf(world.wallet(input))).toBe(row.expected)
      expect({ counts: await counts(ownerId), guesses: await guesses(ownerId) }).toEqual(before)
      return
    }
    const wallet = await world.wallet(input)
    const credentials = row.mode === 'developer' ? GIVEN.secret : GIVEN.pin
    const sign = withKey(world.vault, { wallet, credentials, actor: ACTOR }, async (key) => signOne(key))
    expect((await sign).length).toBe(65)
    expect((await guesses(ownerId)) ?? { fails: 0, total: 0 }).toEqual({ fails: 0, total: 0 })
  })

  test('of a new owner is one keyring, one lock, one sealed key and one audit row, and a user key where a PIN made it', async () => {
    const rows = { keyrings: 1, locks: 1, wallets: 1, wallet_keys: 1, audit: 1 }
    expect(await counts(await OWNERS['a developer lock']())).toEqual({ ...rows, user_keys: 0, guesses: 0 })
    expect(await counts(await OWNERS['a user lock']())).toEqual({ ...rows, user_keys: 1, guesses: 1 })
  })

  test('in the second mode adds a lock to the same keyring, and the audit says that control is shared', async () => {
    const ownerId = await OWNERS['both locks, the developer’s first']()
    expect(await counts(ownerId)).toEqual({
      keyrings: 1,
      locks: 2,
      user_keys: 1,
      guesses: 1,
      wallets: 2,
      wallet_keys: 2,
      audit: 3,
    })
    const { rows } = await world.db.execute(sql`select a.action, a.details from audit a
      join wallets w on w.id::text = a.subject where w.owner_id = ${ownerId} order by a.id`)
    expect(rows.map((each) => each.action)).toEqual(['wallet_created', 'wallet_created', 'control_shared'])
    expect(rows[2]?.details).toMatchObject({ control_mode: 'user' })
  })

  test('of one owner has the same public key on every network and in both modes; another owner has another', async () => {
    const [ownerId, other] = [randomUUID(), randomUUID()]
    const make = (of: string, network: 'Ethereum' | 'Polygon' | 'Base', controlMode: ControlMode, given: Given) =>
      world.wallet({ projectId, ownerId: of, network, controlMode, credentials: GIVEN[given] })
    const wallets = [
      await make(ownerId, 'Ethereum', 'developer', 'secret'),
      await make(ownerId, 'Polygon', 'developer', 'secret'),
      await make(ownerId, 'Base', 'user', 'both'),
    ]
    expect(new Set(wallets.map(({ publicKey }) => hexOf(publicKey))).size).toBe(1)
    expect(new Set(wallets.map(({ keyringId }) => keyringId)).size).toBe(1)
    expect(hexOf((await make(other, 'Ethereum', 'developer', 'secret')).publicKey)).not.toBe(
      hexOf(wallets[0]?.publicKey ?? new Uint8Array()),
    )
  })

  test('leaves nothing behind if the last part of it cannot be written', async () => {
    const ownerId = randomUUID()
    const network = 'A network without a row' as Network
    const making = world.wallet({ projectId, ownerId, controlMode: 'user', credentials: GIVEN.pin, network })
    expect(await making.catch((error: Error) => String(error.cause))).toContain('wallet_keys_network')
    const none = { keyrings: 0, locks: 0, user_keys: 0, guesses: 0, wallets: 0, wallet_keys: 0, audit: 0 }
    expect(await counts(ownerId)).toEqual(none)
  })

  test('on Substrate has an sr25519 key from the same seed', async () => {
    const ownerId = await OWNERS['a user lock']()
    const wallet = await world.wallet({
      projectId,
      ownerId,
      controlMode: 'user',
      credentials: GIVEN.pin,
      network: 'Vara',
    })
    expect(wallet.publicKey.length).toBe(32)
    expect(await counts(ownerId)).toMatchObject({ keyrings: 1, locks: 1, wallets: 2, wallet_keys: 2 })
    const { publicKey } = wallet
    const request = { wallet, credentials: GIVEN.pin, actor: ACTOR }
    const { mnemonicPhrase } = textsOf(await world.vault.exportKeyring(request))
    expect(await publicKeyOfPhrase('substrate', mnemonicPhrase)).toEqual(publicKey)
    const signature = await withKey(world.vault, request, async (key) => signOne(key, SUBSTRATE_PAYLOAD))
    expect(verifySr25519(SUBSTRATE_BYTES, signature, publicKey)).toBe(true)
  })

  test('or a project whose id the database would spell differently is refused, because it would never open again', async () => {
    const odd = randomUUID().toUpperCase()
    const input = {
      ownerId: 'o',
      controlMode: 'developer',
      credentials: GIVEN.secret,
      network: 'Ethereum',
      family: 'evm',
      type: 'eoa',
      actor: ACTOR,
    } as const
    const attempts = [
      () => world.vault.newWallet({ ...input, walletId: randomUUID(), projectId: projectId.toUpperCase() }),
      () => world.vault.newWallet({ ...input, walletId: odd, projectId }),
      () => world.vault.newProject({ projectId: odd, developerSecret: null, actor: 'operator' }),
    ]
    for (const attempt of attempts) await expect(attempt()).rejects.toThrow('not a UUID in lower case')
  })

  test('of a project that does not exist is not found', async () => {
    const input = {
      projectId: randomUUID(),
      ownerId: 'o',
      controlMode: 'developer',
      credentials: GIVEN.secret,
    } as const
    expect(await codeOf(world.wallet(input))).toBe('not_found')
  })

  longTest('for a new owner on all networks at once: they share one seed and one PIN', async () => {
    const ownerId = randomUUID()
    const networks = ['Ethereum', 'Polygon', 'Base', 'Avalanche', 'Polkadot', 'Vara'] as const
    const input = { projectId, ownerId, controlMode: 'user', credentials: GIVEN.pin } as const
    const made = await Promise.all(networks.map((network) => world.wallet({ ...input, network })))
    expect(new Set(made.map(({ keyringId }) => keyringId)).size).toBe(1)
    expect(await counts(ownerId)).toMatchObject({ keyrings: 1, locks: 1, user_keys: 1, wallets: 6, wallet_keys: 6 })
  })
})

describe('the same wallet, made again by its id', () => {
  const PHRASE = { mnemonicPhrase: ANVIL.phrase }
  const KEY = { privateKey: ANVIL.privateKey }
  const userOf = (ownerId: string) => ({ ownerId, controlMode: 'user', credentials: GIVEN.pin }) as const
  const developerOf = (ownerId: string) => ({ ownerId, controlMode: 'developer', credentials: GIVEN.secret }) as const

  const callOf = (of: Pick<WalletInput, 'ownerId' | 'controlMode' | 'credentials' | 'network' | 'imported'>) =>
    ({
      ...{ walletId: randomUUID(), projectId, network: 'Avalanche', family: 'evm', type: 'eoa', actor: ACTOR },
      ...of,
    }) as Parameters<OperatorVault['newWallet']>[0]

  const calls: readonly (readonly [string, () => Promise<ReturnType<typeof callOf>>])[] = [
    ['of a new owner', async () => callOf(userOf(randomUUID()))],
    ['of a new owner, by the developer', async () => callOf(developerOf(randomUUID()))],
    ['of an owner with a seed', async () => callOf(userOf(await OWNERS['a user lock']()))],
    [
      'with which control began to be shared',
      async () => callOf({ ...userOf(await OWNERS['a developer lock']()), credentials: GIVEN.both }),
    ],
    ['from a phrase', async () => callOf({ ...userOf(randomUUID()), imported: PHRASE })],
    [
      'from a phrase, of an owner with a seed',
      async () => callOf({ ...userOf(await OWNERS['a user lock']()), imported: PHRASE }),
    ],
    ['from a key', async () => callOf({ ...developerOf(randomUUID()), imported: KEY })],
  ]

  test.each(someOf(calls, 3))(
    '%s has the same keyring and public key, and nothing more is written',
    async (_what, callOfOwner) => {
      const call = await callOfOwner()
      const first = await world.vault.newWallet(call)
      const written = await counts(call.ownerId)
      const again = await world.vault.newWallet(call)
      expect([again.keyringId, again.publicKey]).toEqual([first.keyringId, first.publicKey])
      // Somebody may have seen the address of the seed meanwhile.
      expect(again.keyUsedSince).toEqual(call.imported === undefined ? expect.any(Date) : 'ever')
      expect(await counts(call.ownerId)).toEqual(written)
      const wallet = { ...call, id: call.walletId, ...first }
      const credentials = call.controlMode === 'user' ? GIVEN.pin : GIVEN.secret
      expect(await world.vault.newWallet({ ...call, credentials })).toEqual(again)
      await insertWallet(world.api, { ...wallet, name: 'w', mac: NO_MAC })
      const signed = withKey(world.vault, { wallet, credentials, actor: ACTOR }, signOne)
      expect((await signed).length).toBe(65)
      // The next case imports the same key, which a project has once.
      await world.sql`update wallets set address = id::text where id = ${wallet.id}`
    },
  )

  const owners = [
    ['of a new owner', async () => userOf(randomUUID())],
    ['of a new owner, by the developer', async () => developerOf(randomUUID())],
    ['of an owner with a seed', async () => developerOf(await OWNERS['a developer lock']())],
  ] as const

  test.each(someOf(owners, 3))('%s, many times at once, by two processes, is one wallet', async (_what, by) => {
    const call = callOf(await by())
    const before = await counts(call.ownerId)
    const length = isLong ? 20 : 4
    const atOnce = Array.from({ length }, (_, index) => (index % 2 ? other : world.vault).newWallet(call))
    const made = await Promise.all(atOnce)
    expect(new Set(made.map(({ keyringId, publicKey }) => keyringId + hexOf(publicKey))).size).toBe(1)
    const [keys, audit] = [Number(before.wallet_keys) + 1, Number(before.audit) + 1]
    expect(await counts(call.ownerId)).toMatchObject({ keyrings: 1, locks: 1, wallet_keys: keys, audit })
  })

  test('needs the credential again', async () => {
    const call = callOf(userOf(randomUUID()))
    await world.vault.newWallet(call)
    const codes = [
      await codeOf(world.vault.newWallet({ ...call, credentials: {} })),
      await codeOf(world.vault.newWallet({ ...call, credentials: GIVEN.secret })),
      await codeOf(world.vault.newWallet({ ...call, credentials: { userPin: '654321' } })),
    ]
    expect(codes).toEqual([requires, requires, 'INVALID_SECRET'])
    expect(await guesses(call.ownerId)).toEqual({ fails: 1, total: 1 })
  })

  test('is refused with another network, owner, control mode, project or key', async () => {
    const ownerId = await OWNERS['a user lock']()
    const call = callOf(userOf(ownerId))
    await world.vault.newWallet(call)
    const imported = callOf({ ...developerOf(randomUUID()), imported: KEY })
    await world.vault.newWallet(imported)
    const wrong = { ...call, credentials: { userPin: '654321' } }
    const others = [
      { ...wrong, network: 'Base' },
      { ...wrong, ownerId: randomUUID() },
      { ...wrong, projectId: await world.project() },
      { ...call, ...developerOf(ownerId), credentials: GIVEN.both },
      { ...call, imported: KEY },
      { ...imported, ownerId: randomUUID() },
      { ...imported, imported: { privateKey: '1'.padStart(64, '0') } },
      { ...imported, imported: undefined },
    ] as const
    for (const other of others) expect(await codeOf(world.vault.newWallet(other))).toBe('idempotency_mismatch')
    expect(await counts(ownerId)).toMatchObject({ keyrings: 1, locks: 1, wallet_keys: 2 })
    expect(await guesses(ownerId)).toEqual({ fails: 0, total: 0 })
  })
})

describe('a wrong credential', () => {
  const wrongSecret = { developerSecret: 'not-the-secret' }
  const make = (
    ownerId: string,
    controlMode: ControlMode,
    credentials: { developerSecret?: string; userPin?: string },
  ) => codeOf(world.wallet({ projectId, ownerId, controlMode, credentials, network: 'Avalanche' }))

  test('makes no wallet for a new owner if it is the developer secret', async () => {
    const ownerId = randomUUID()
    expect(await make(ownerId, 'developer', wrongSecret)).toBe('INVALID_SECRET')
    expect((await counts(ownerId)).keyrings).toBe(0)
  })

  test('is charged once if it is the owner’s PIN', async () => {
    const ownerId = await OWNERS['a user lock']()
    expect(await make(ownerId, 'user', { userPin: '654321' })).toBe('INVALID_SECRET')
    expect(await guesses(ownerId)).toEqual({ fails: 1, total: 1 })
    expect(await make(ownerId, 'user', GIVEN.pin)).toBe('resolved')
    expect(await guesses(ownerId)).toEqual({ fails: 0, total: 1 })
  })

  test('may be either of two; a wrong secret charges no guess of the PIN', async () => {
    const ownerId = await OWNERS['a user lock']()
    expect(await make(ownerId, 'developer', { ...wrongSecret, userPin: '654321' })).toBe('INVALID_SECRET')
    expect(await guesses(ownerId)).toEqual({ fails: 0, total: 0 })
    expect(await make(ownerId, 'developer', { ...GIVEN.secret, userPin: '654321' })).toBe('INVALID_SECRET')
    expect(await guesses(ownerId)).toEqual({ fails: 1, total: 1 })
    expect(await counts(ownerId)).toMatchObject({ locks: 1, wallets: 1 })
  })

  test('cannot be the PIN of an owner who has none yet: the PIN is set', async () => {
    const ownerId = await OWNERS['a developer lock']()
    expect(await make(ownerId, 'user', { ...wrongSecret, userPin: '604913' })).toBe('INVALID_SECRET')
    expect((await counts(ownerId)).user_keys).toBe(0)
    expect(await make(ownerId, 'user', { ...GIVEN.secret, userPin: '271828' })).toBe('resolved')
  })
})

describe('on testnet', () => {
  test('the secret is the published constant, whether it is given or not', async () => {
    expect(TESTNET_DEVELOPER_SECRET).toBe('testnet-secret')
    expect(await codeOf(world.project(null))).toBe('resolved')
    expect(await codeOf(world.project(TESTNET_DEVELOPER_SECRET))).toBe('resolved')
    expect(await codeOf(world.project('a-secret-of-my-own'))).toBe('invalid_input')
  })
})

describe('the same project, made again by its id', () => {
  const keysOf = async (of: string) => {
    const { rows } = await world.db.execute(sql`select p.wrapped, d.sealed,
      (select count(*)::int from audit where project_id = ${of} and action = 'project_created') as told
      from project_keys p left join developer_keys d using (project_id) where project_id = ${of}`)
    return rows
  }
  const make = (of: string, developerSecret: string | null, vault = world.vault) =>
    vault.newProject({ projectId: of, developerSecret, actor: 'operator' })

  test('has the same keys, also many times at once, by two processes', async () => {
    const of = randomUUID()
    await insertProject(world.api, { id: of, name: 'Again', activatedAt: null })
    const length = isLong ? 20 : 6
    await Promise.all(Array.from({ length }, (_, index) => make(of, null, index % 2 ? other : world.vault)))
    const keys = await keysOf(of)
    expect(keys).toMatchObject([{ told: 1 }])
    await make(of, TESTNET_DEVELOPER_SECRET)
    expect(await keysOf(of)).toEqual(keys)
  })
})

describe('on mainnet', () => {
  const own = 'correct horse battery'
  let mainnet: VaultWorld
  beforeAll(async () => {
    mainnet = await openWorld('mainnet')
  })
  afterAll(() => mainnet.close())

  const make = (of: string, controlMode: ControlMode, credentials: { developerSecret?: string; userPin?: string }) =>
    codeOf(mainnet.wallet({ projectId: of, ownerId: randomUUID(), controlMode, credentials }))

  test('a project without a secret is not activated: nothing can be made in it', async () => {
    const of = await mainnet.project(null)
    expect(await make(of, 'developer', { developerSecret: own })).toBe('project_not_activated')
    expect(await make(of, 'developer', GIVEN.secret)).toBe('project_not_activated')
    expect(await make(of, 'user', GIVEN.pin)).toBe('project_not_activated')
    expect(await make(of, 'user', {})).toBe('credential_required')
  })

  test('a secret has at least sixteen characters, so it is never the constant of testnet', async () => {
    expect(await codeOf(mainnet.project('fifteen letters'))).toBe('invalid_input')
    expect(await codeOf(mainnet.project(TESTNET_DEVELOPER_SECRET))).toBe('invalid_input')
    expect(await codeOf(mainnet.project('sixteen letters!'))).toBe('resolved')
  })

  test('the project’s own secret opens, and the constant of testnet does not', async () => {
    const of = await mainnet.project(own)
    expect(await make(of, 'developer', { developerSecret: own })).toBe('resolved')
    expect(await make(of, 'developer', GIVEN.secret)).toBe('INVALID_SECRET')
    expect(await make(of, 'developer', { developerSecret: `${own} ` })).toBe('INVALID_SECRET')
  })

  test('a project is made again by its id only with the same secret, and activated again only with the same', async () => {
    const [made, later] = [await mainnet.project(own), await mainnet.project(null)]
    const make = (projectId: string, developerSecret: string | null) =>
      codeOf(mainnet.vault.newProject({ projectId, developerSecret, actor: 'operator' }))
    const activate = (projectId: string, developerSecret: string) =>
      codeOf(mainnet.vault.activateProject({ projectId, developerSecret, actor: 'operator' }))
    const other = 'another secret 1'
    expect([await make(made, own), await make(made, other)]).toEqual(['resolved', 'idempotency_mismatch'])
    expect([await make(later, null), await make(later, own)]).toEqual(['resolved', 'idempotency_mismatch'])
    const atOnce = Array.from({ length: isLong ? 20 : 6 }, () => activate(later, own))
    expect(new Set(await Promise.all(atOnce))).toEqual(new Set(['resolved']))
    const { rows } = await mainnet.db.execute(sql`select action from audit where project_id = ${later}`)
    expect(rows).toEqual([{ action: 'project_created' }, { action: 'project_activated' }])
    expect([await activate(later, own), await activate(later, other)]).toEqual(['resolved', 'invalid_input'])
    expect([await make(later, null), await make(later, own)]).toEqual(['resolved', 'resolved'])
  })

  test('the secret of one project does not open another', async () => {
    const [one, other] = [await mainnet.project(own), await mainnet.project('another secret 1')]
    expect(await make(one, 'developer', { developerSecret: 'another secret 1' })).toBe('INVALID_SECRET')
    expect(await make(other, 'developer', { developerSecret: own })).toBe('INVALID_SECRET')
  })
})

// A new wallet. Its key comes from a keyring, which is made or opened with the credentials, and is sealed by itself.
// All that is sealed is committed together. The caller writes the row of `wallets` afterwards.
//
//   the wallet comes from       it needs                     and makes
//   the owner's seed, which
//     does not exist yet        the mode's credential        a keyring, its seed, a lock of the mode
//     has a lock of the mode    the mode's credential        nothing more: the lock leads to the family keys
//     has only the other lock   both credentials             a second lock, and the seed is sealed anew, with both
//                                                            credentials: control is shared from then on
//   an imported phrase          the mode's credential        a keyring of its own and a lock of the mode; it is the owner's
//                                                            seed if there is none yet
//   an imported private key     the mode's credential        a keyring of its own and a lock of the mode
//
// A PIN, or another secret of the user, opens the owner's user key. If the owner has none yet, it is made with the PIN.

import { insertKeyring, insertWalletKey, type OwnerRow, replaceSeed } from '../../../../db/queries/vault/keyrings.ts'
import { insertOwnerLock, insertUserKey, type NewUserKeyRow } from '../../../../db/queries/vault/locks.ts'
import { findWallet } from '../../../../db/queries/wallets.ts'
import type { ChainFamily, ControlMode, Network, WalletType } from '../../../../db/words.ts'
import type { AuditAct } from '../../../platform/audit/audit.ts'
import { AppError, notFound } from '../../../platform/errors.ts'
import { HeldKeys } from '../../../platform/sealing/bytes.ts'
import { KeyRotated, madeOtherwise, repeatable } from '../../contract/repeatable.ts'
import {
  type Credentials,
  modesForCreation,
  onlyOf,
  type Proof,
  requireCredentials,
} from '../../contract/required-credentials.ts'
import { changing } from '../changing.ts'
import { checkCredentials, makeUserKey, notActivated } from '../credentials/credential-keys.ts'
import { refuseObviousPin } from '../credentials/new-secrets.ts'
import type { RoomCtx } from '../ctx.ts'
import { projectKeyRow } from '../journal/records.ts'
import { type Imported, type ImportedText, readImported } from '../keys/imported.ts'
import { addressOf } from '../keys/key-types.ts'
import { type CredentialKeyOf, requireCanonicalIds, sealWalletKey } from '../sealing/hierarchy.ts'
import { keepLocks, openOuterOfSeed } from './keyring.ts'
import { keyringFor, modesOfSeed, type OpenKeyring, readOwnerOfNew } from './new-keyring.ts'
import { unlessForged, walletForged } from './read-wallet.ts'
import { openLocked } from './wallet-key.ts'

type NewWalletInput = {
  readonly walletId: string
  readonly projectId: string
  readonly ownerId: string
  readonly network: Network
  readonly controlMode: ControlMode
  readonly family: ChainFamily
  readonly type: WalletType
  /** Instead of the owner's seed. */
  readonly imported?: ImportedText | undefined
  readonly credentials: Credentials
  readonly actor: string
  /** The caller's other values for the wallet's row. The journal keeps them. */
  readonly about?: string | undefined
}

type NewWallet = {
  readonly keyringId: string
  /** 65 bytes uncompressed secp256k1, or 32 bytes sr25519. */
  readonly publicKey: Uint8Array
  /** Canonical. */
  readonly address: string
  /** Since when the key can have been used: now; since it was made here; or ever, for an imported key. */
  readonly keyUsedSince: 'now' | Date | 'ever'
}

/** Another first wallet of this owner, or this wallet, was made at the same time. */
const RACED = [
  'keyrings_one_seed',
  'user_keys_project_id_owner_id_pk',
  'pin_guesses_project_id_owner_id_pk',
  'wallet_keys_pkey',
]

type Opening = NewWalletInput & {
  readonly owner: OwnerRow
  readonly importedSecret: Imported | null
  readonly keys: HeldKeys
}

/** Opens the keys of the credentials, and makes the user key of an owner who has none. */
const openCredentials = async (
  ctx: RoomCtx,
  input: Opening & { readonly proof: Proof },
): Promise<{ readonly credentialKeyOf: CredentialKeyOf; readonly newUserKey: NewUserKeyRow | null }> => {
  const { projectId, ownerId, actor, owner, proof, keys } = input
  const { userPin: pin, userSecret } = proof
  const scope = { projectId, ownerId, actor, rows: owner, keys }
  if (userSecret !== null && owner.userKey === null) {
    throw new AppError('credential_required', 'Field "user_pin" is required: the owner has no PIN yet.')
  }
  if (pin === null || owner.userKey !== null) {
    return { credentialKeyOf: await checkCredentials(ctx, { ...scope, proof }), newUserKey: null }
  }
  refuseObviousPin({ pin, field: 'user_pin' })
  const { developer } = await checkCredentials(ctx, { ...scope, proof: { ...proof, userPin: null } })
  const { projectKeyVersion } = owner
  const { key, row } = await makeUserKey(ctx, { projectId, ownerId, pin, projectKeyVersion })
  return { credentialKeyOf: { developer, user: keys.hold(key) }, newUserKey: row }
}

const keyUsedSince = ({ newKeyring }: OpenKeyring, { seed }: OwnerRow): NewWallet['keyUsedSince'] => {
  if (newKeyring !== null) return newKeyring.imported === true ? 'ever' : 'now'
  return seed === null || seed.imported ? 'ever' : seed.createdAt
}

const actsOf = (input: Opening & Pick<Made, 'keyring' | 'address'>): readonly AuditAct[] => {
  const { projectId, actor, walletId, ownerId, network, controlMode, keyring, type, address } = input
  const act = { projectId, actor, subject: walletId }
  const details = { control_mode: controlMode, keyring_id: keyring.keyringId }
  const action = input.imported === undefined ? 'wallet_created' : 'wallet_imported'
  // The values of the row that `audit verify` compares.
  const key = { type, address, public_key: Buffer.from(keyring.keyPair.publicKey).toString('hex') }
  return [
    { ...act, action, details: { ...details, keyring_kind: keyring.kind, network, owner_id: ownerId, ...key } },
    ...(keyring.shared === null ? [] : [{ ...act, action: 'control_shared', details } as const]),
  ]
}

type Made = Opening & {
  readonly keyring: OpenKeyring
  readonly address: string
  readonly newUserKey: NewUserKeyRow | null
  readonly sealed: Uint8Array
}

const commit = (ctx: RoomCtx, made: Made): Promise<void> =>
  changing(ctx, async (tx, wrote) => {
    const { walletId, projectId, network, controlMode, owner, keyring, newUserKey, sealed } = made
    const { keyringId, newKeyring, newLock, shared } = keyring
    if (newUserKey !== null || newLock !== null) {
      await ctx.projectKeys.keepNewest(tx, { projectId, version: owner.projectKeyVersion })
    }
    if (newUserKey !== null) wrote(...(await insertUserKey(tx, newUserKey)))
    if (newKeyring !== null) wrote(await insertKeyring(tx, newKeyring))
    // A rotation has sealed the seed anew meanwhile, or another call has shared control.
    const seed = shared === null ? null : await replaceSeed(tx, { keyringId, ...shared })
    if (shared !== null && seed === null) throw new KeyRotated("project's key")
    if (seed !== null) wrote(seed)
    if (newLock !== null) wrote(await insertOwnerLock(tx, newLock))
    const { publicKey } = keyring.keyPair
    wrote(await insertWalletKey(tx, { walletId, keyringId, network, controlMode, publicKey, sealed }))
    // Refuse if the owner's wallets were put under policies meanwhile.
    if (newKeyring === null) await keepLocks(tx, { keyringId, locks: Object.values(owner.locks) })
    for (const act of actsOf(made)) await ctx.audit.record(tx, act)
  })

/** All that the wallet needs, and what its row in `wallets` is made of. */
const keepInJournal = (
  { journal, now }: RoomCtx,
  made: NewWalletInput & { readonly owner: OwnerRow; readonly keyringId: string; readonly publicKey: Uint8Array },
): void => {
  const { walletId: id, projectId, ownerId, network, controlMode, keyringId, publicKey, about = '' } = made
  const owner = { project_id: projectId, owner_id: ownerId }
  // The new ones among them are there as they were written.
  journal.addToRead(
    projectKeyRow({ projectId, version: made.owner.projectKeyVersion }),
    { table: 'user_keys', where: owner },
    { table: 'pin_guesses', where: owner },
    { table: 'keyrings', where: { id: keyringId } },
    { table: 'owner_locks', where: { keyring_id: keyringId } },
    { table: 'wallet_keys', where: { wallet_id: id } },
  )
  const wallet = { id, projectId, ownerId, network, controlMode, keyringId }
  const note = { kind: 'wallet', wallet, publicKey: Buffer.from(publicKey).toString('hex'), about } as const
  journal.add({ notes: [{ ...note, at: now().toISOString() }] })
}

type Answered = NewWalletInput &
  Pick<Opening, 'keys'> & {
    readonly credentialKeyOf: CredentialKeyOf
    readonly keyringId: string
    readonly publicKey: Uint8Array
    readonly address: string
  }

/**
 * Opens the wallet's key from the rows as they are in their tables, because a row that the database damaged would open
 * for no caller.
 */
const openOnce = async (
  ctx: RoomCtx,
  { walletId: id, keys, credentialKeyOf, actor, ...scope }: Answered,
): Promise<void> => {
  const wallet = { ...scope, id }
  const row = await ctx.readWalletKey(id)
  const lock = row?.locks[scope.controlMode]
  if (!row || !lock) throw walletForged({ wallet, actor })
  keys.hold(await openLocked(ctx, { wallet, actor, credentialKeyOf, lock, sealed: row.walletKey }))
  await unlessForged({ wallet, actor }, () => openOuterOfSeed(ctx, { ...scope, ...row }))
}

const isMadeOf = (made: NonNullable<OwnerRow['made']>, input: NewWalletInput): boolean =>
  made.projectId === input.projectId &&
  made.ownerId === input.ownerId &&
  made.network === input.network &&
  made.controlMode === input.controlMode

/**
 * Refuses an import before anything of it is kept. The caller cannot ask this earlier: to learn a key's address takes
 * as long as to open it, so it needs a checked credential.
 */
const refuseKnownAddress = async (ctx: RoomCtx, input: NewWalletInput & { readonly address: string }) => {
  const { projectId, network, address } = input
  if ((await findWallet(ctx.db, { projectId, ownedBy: null, network, by: { address } })) === null) return
  throw new AppError('wallet_exists', `This project already has a wallet with this address on ${network}.`)
}

const makeWallet = async (ctx: RoomCtx, input: NewWalletInput & { readonly tries: number }): Promise<NewWallet> => {
  using keys = new HeldKeys()
  const { network, controlMode, family, credentials, tries } = input
  const importedSecret = input.imported === undefined ? null : readImported({ family, text: input.imported })
  if (importedSecret !== null) {
    keys.hold(importedSecret.secret)
    // Before a row is read: it becomes a keyring of its own, so no row says which credential it needs.
    requireCredentials({ modes: [controlMode], credentials })
  }
  const owner = await readOwnerOfNew(ctx, input)
  if (owner === null) throw notFound('project')
  const { made } = owner
  if (made !== null && !isMadeOf(made, input)) throw madeOtherwise('wallet')
  const locked = importedSecret === null ? modesOfSeed(owner) : []
  const modes = made === null ? modesForCreation({ mode: controlMode, locked }) : [controlMode]
  // One credential may be enough now where this call, or the first one of this wallet, needed both to share control.
  const isFirst = made === null && tries === 1
  const proof = requireCredentials({ modes, credentials: isFirst ? credentials : onlyOf({ modes, credentials }) })
  if (owner.developerKey === null) throw notActivated()
  await ctx.freezes.refuse({
    wallet: { ...input, id: input.walletId },
    actor: input.actor,
    freezeMacs: owner.freezeMacs,
  })

  const opening = { ...input, owner, importedSecret, keys }
  const { credentialKeyOf, newUserKey } = await openCredentials(ctx, { ...opening, proof })
  const keyring = await keyringFor(ctx, { ...opening, credentialKeyOf })
  const { keyringId, controlKey, keyPair } = keyring
  const { privateKey, publicKey } = keyPair
  const since = keyUsedSince(keyring, owner)
  const address = addressOf({ chain: ctx.chainOf(network), type: input.type, publicKey })
  if (made !== null) {
    if (Buffer.compare(made.publicKey, publicKey) !== 0) throw madeOtherwise('wallet')
  } else {
    if (importedSecret !== null) await refuseKnownAddress(ctx, { ...input, address })
    const sealed = sealWalletKey({ ...input, keyringId, controlKey, privateKey })
    await commit(ctx, { ...opening, keyring, address, newUserKey, sealed })
  }
  const as = { ...opening, credentialKeyOf, address, publicKey, keyringId: made?.keyringId ?? keyringId }
  await openOnce(ctx, as)
  keepInJournal(ctx, as)
  return { keyringId: as.keyringId, publicKey, address, keyUsedSince: since }
}

/** Makes a wallet's keys, as `Vault.newWallet` says. */
export const newWallet = async (ctx: RoomCtx, input: NewWalletInput): Promise<NewWallet> => {
  requireCanonicalIds([input.walletId, input.projectId])
  return repeatable(RACED, (tries) => makeWallet(ctx, { ...input, tries }))
}

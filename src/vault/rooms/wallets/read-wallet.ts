// Reads the wallet of a request. The vault uses what it reads: owner, network, keyring, control mode, type, address and
// public key. The request has them too, as the API authenticated them by the MAC of the wallet's row, which the vault
// cannot check. A database that gives the vault rows of another wallet, all of which agree, does not have the API's.

import type { WalletKeyRow, WalletRow } from '../../../../db/queries/vault/keyrings.ts'
import { CONTROL_MODES, type ControlMode } from '../../../../db/words.ts'
import { AppError } from '../../../platform/errors.ts'
import { EnvelopeError } from '../../../platform/sealing/envelope.ts'
import type { Credentials } from '../../contract/required-credentials.ts'
import type { RoomCtx } from '../ctx.ts'

type Request = {
  readonly wallet: WalletRow
  /** `api_key:<id>`, `session:<id>`, `operator` or `system`. */
  readonly actor: string
}

export type KeyRequest = Request & { readonly credentials: Credentials }

/** A wallet with the rows that open its key. */
export type ReadWallet = { readonly wallet: WalletRow; readonly row: WalletKeyRow }

/** A request whose wallet was read. */
export type ReadRequest = Omit<KeyRequest, 'wallet'> & ReadWallet

type Named = { readonly wallet: Pick<WalletRow, 'id' | 'projectId'>; readonly actor: string }

/**
 * The row of the wallet, or a row that opens its key, was changed in the database. `wallet`: the keyring if the wallet
 * does not exist yet.
 */
export const walletForged = ({ wallet, actor }: Named, cause?: unknown): AppError => {
  const { projectId, id: subject } = wallet
  return new AppError('internal', 'A row of this wallet was changed, so its key was not opened.', {
    event: { kind: 'wallet_forged', projectId, actor, subject },
    cause,
  })
}

/** Opens what the rows of a wallet seal. @throws internal, with a security event, if that does not open. */
export const unlessForged = async <Result>(request: Named, open: () => Promise<Result>): Promise<Result> => {
  try {
    return await open()
  } catch (error) {
    if (error instanceof EnvelopeError) throw walletForged(request, error)
    throw error
  }
}

/** Whether rows are earlier than those that the journal has: they were written back. */
type IsSetBack = (ctx: RoomCtx, read: ReadWallet) => boolean

const lockFloor = ({ journal }: RoomCtx, { wallet }: ReadWallet, mode: ControlMode): number =>
  journal.floorOf('owner_locks', [wallet.keyringId, mode])

/** The lock of the wallet's own mode. */
const isLockSetBack: IsSetBack = (ctx, read) => {
  const { controlMode } = read.wallet
  return (read.row.locks[controlMode]?.version ?? 0) < lockFloor(ctx, read, controlMode)
}

/** All locks of the keyring, and how many there are: control that is shared stays shared. */
export const isKeyringSetBack: IsSetBack = (ctx, read) => {
  const { wallet, row } = read
  if (row.controlModes.length < ctx.journal.floorOf('keyrings', [wallet.keyringId])) return true
  return CONTROL_MODES.some((mode) => (row.locks[mode]?.version ?? 0) < lockFloor(ctx, read, mode))
}

/**
 * A lock may change between the statement and the look at the journal. The next statement then finds its later version.
 */
const READS_MAX = 3

/** As `readWallet`, also from earlier or edited rows: what ends a right must work in an emergency. */
export const readWalletOfAnyTime = async (ctx: RoomCtx, request: Request): Promise<ReadWallet> => {
  const row = await ctx.readWalletKey(request.wallet.id)
  if (row === null) throw walletForged(request)
  return { wallet: request.wallet, row }
}

const isSame = ({ publicKey, ...one }: WalletRow, other: WalletRow): boolean =>
  Buffer.compare(publicKey, other.publicKey) === 0 &&
  Object.entries(one).every(([name, value]) => value === other[name as keyof WalletRow])

/**
 * Reads the wallet of a request. @param isSetBack which earlier rows are forged: by default the lock of the wallet's
 * mode.
 * @throws internal, with a security event, if the rows contradict the request or each other, or are earlier than the
 * journal's.
 */
export const readWallet = async (
  ctx: RoomCtx,
  request: Request,
  isSetBack: IsSetBack = isLockSetBack,
): Promise<ReadWallet> => {
  for (let reads = 0; reads < READS_MAX; reads += 1) {
    const row = await ctx.readWalletKey(request.wallet.id)
    const wallet = row?.wallet
    if (!row || !wallet || !isSame(wallet, request.wallet)) break
    const read = { wallet, row }
    if (!isSetBack(ctx, read)) return read
  }
  throw walletForged(request)
}

import { randomBytes } from 'node:crypto'
import { findNonce, insertNonce, useNonce } from '../../db/queries/logins.ts'
import { ensureUser } from '../../db/queries/users.ts'
import { isOriginOf } from '../auth/origins.ts'
import type { Asked } from '../auth/plugin.ts'
import { isTimely, originOf, type SignInMessage } from '../auth/sign-in-message.ts'
import { parseSiwe } from '../auth/siwe.ts'
import { parseSiws } from '../auth/siws.ts'
import { throttle } from '../auth/throttle.ts'
import type { Hex } from '../chains/chain.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { beginsFor, beginsFrom } from './limits.ts'
import { chainIdsInWords, chainWithId, contractChainOf, contractWallet, readSignInWallet } from './sign-in-wallet.ts'
import { userIdOf } from './user-id.ts'
import type { Prove } from './verify-login.ts'

const WAY = 'wallet'
/** 128 bits; as hex it is of EIP-4361's alphabet. */
const NONCE_BYTES = 16
const NONCE_SECONDS = 300

/**
 * Gives out the nonce of a sign-in message, for one wallet and once, whether the wallet is a user's already or not.
 * @returns the nonce, and whose session its signature begins.
 * @throws address_invalid, invalid_input, rate_limited.
 */
export const loginWithWallet = async (
  ctx: Ctx,
  asked: Asked,
  input: { readonly signInWallet: string },
): Promise<{ readonly userId: string; readonly nonce: string }> => {
  const { projectId } = asked
  const signInWallet = readSignInWallet(ctx.chains, input.signInWallet)
  await throttle(ctx, [beginsFrom(ctx, asked, WAY), ...beginsFor(ctx, asked, WAY, signInWallet)])
  const userId = await userIdOf(ctx, { projectId, by: { signInWallet } })
  const nonce = randomBytes(NONCE_BYTES).toString('hex')
  const terms = { userId: null, target: signInWallet, lifetimeSeconds: NONCE_SECONDS }
  await insertNonce(ctx.db, { projectId, kind: 'wallet', nonce, ...terms })
  return { userId, nonce }
}

type Signed = { readonly message: string; readonly signature: Hex }

/** Unlike all else that is wrong with a proof this is told: it is the page's mistake, and says nothing of any user. */
const otherChain = (chainId: number, right: string): AppError =>
  new AppError('login_failed', `The message is for the chain with id ${chainId}; right here is ${right}.`)

/**
 * Whose signature could be on a message: a key's, and a contract's where the message names its chain.
 * @throws login_failed for a chain of no network here.
 */
const signersOf = ({ chains }: Pick<Ctx, 'chains'>, { address, chainId }: SignInMessage) => {
  if (chainId === null) {
    const chain = chains.ofFamily('substrate')
    const account = chain.accountOf(address)
    return account === null ? null : { key: account, contract: null, chain }
  }
  const chain = chainWithId(chains, chainId)
  if (chain === null) throw otherChain(chainId, chainIdsInWords(chains))
  return { key: address, contract: contractWallet({ chainId, address }), chain }
}

type Signers = NonNullable<ReturnType<typeof signersOf>>

/** The wallet that signed. Where its network has no node, only a key can have. @throws node_unavailable. */
const signerOf = async ({ key, contract, chain }: Signers, signed: Signed): Promise<string | null> => {
  const by = await chain.verifyMessage({ ...signed, address: key })
  return by === 'contract' ? contract : by && key
}

/** A page's own message must be for that page; whoever calls without one may sign for any origin of the project. */
const isForOrigin = async (ctx: Ctx, { projectId, origin: page }: Asked, message: SignInMessage): Promise<boolean> => {
  const origin = originOf(message)
  if (origin === null) return false
  return page === null ? isOriginOf(ctx, { projectId, origin }) : origin === page
}

/**
 * A signed message of EIP-4361, or its likeness for Substrate. The nonce stays until the session begins, so that a node
 * that is out of reach costs nobody a second signature.
 * @throws node_unavailable; login_failed where the message is for another chain.
 */
export const proveByWallet: Prove<{ readonly message: string; readonly signature: string }> = async (
  ctx,
  asked,
  { message: text, signature },
) => {
  const message = parseSiwe(text) ?? parseSiws(text)
  const signers = message && signersOf(ctx, message)
  if (message === null || signers === null || !(await isForOrigin(ctx, asked, message))) return null

  const { projectId } = asked
  const nonce = { projectId, kind: 'wallet', nonce: message.nonce } as const
  const given = await findNonce(ctx.db, nonce)
  // Asked before any node is: nobody has one work on a message for which no nonce was given.
  if (given === null) return null
  if (![signers.key, signers.contract].includes(given.target)) {
    const chain = contractChainOf(given.target, message.address)
    if (chain !== null && message.chainId !== null) throw otherChain(message.chainId, `${chain}, that of the contract`)
    return null
  }
  if (!isTimely(message, { nowMs: ctx.now().getTime(), nonceCreatedAtMs: given.createdAt.getTime() })) return null

  const signer = await signerOf(signers, { message: text, signature: `0x${signature.slice(2)}` })
  // A nonce for an address serves whoever signs for it, key or contract; one for a contract serves that alone.
  if (signer === null || ![signer, signers.key].includes(given.target)) return null

  const id = await userIdOf(ctx, { projectId, by: { signInWallet: signer } })
  return {
    way: 'wallet',
    settle: async (tx) =>
      (await useNonce(tx, nonce)) === null
        ? null
        : { userId: await ensureUser(tx, { id, projectId, signInWallet: signer }) },
  }
}

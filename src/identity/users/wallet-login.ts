import { randomBytes } from 'node:crypto'
import type { Hex } from '../../chains/chain.ts'
import type { HasChains } from '../../chains/chains.ts'
import { AppError } from '../../platform/errors.ts'
import { isOriginOf } from '../auth/origins.ts'
import type { Visitor } from '../auth/plugin.ts'
import { isTimely, originOf, parseSiwe, parseSiws, type SignInMessage } from '../auth/sign-in-message.ts'
import { throttle } from '../auth/throttle.ts'
import type { IdentityCtx } from '../ctx.ts'
import { beginLimit, targetLimit } from './limits.ts'
import { issueNonce, readNonce, takeNonce } from './nonces.ts'
import { chainIdsInWords, chainWithId, contractChainOf, readSignInWallet } from './sign-in-wallet.ts'
import { ensureUser } from './user.ts'
import { derivedUserId, userIdOf } from './user-id.ts'
import type { Prove } from './verify-login.ts'

const WAY = 'wallet'
/** 128 bits. EIP-4361 allows hex in a nonce. */
const NONCE_BYTES = 16
const NONCE_SECONDS = 300

/**
 * Stores a nonce for one sign-in message of one wallet. It does the same for a known and an unknown wallet.
 * @returns the nonce, and the id of the user whose session the signature will begin.
 */
export const loginWithWallet = async (
  ctx: IdentityCtx,
  visitor: Visitor,
  input: { readonly signInWallet: string },
): Promise<{ readonly userId: string; readonly nonce: string }> => {
  const { projectId } = visitor
  const signInWallet = readSignInWallet(ctx.chains, input.signInWallet)
  await throttle(ctx, [beginLimit(ctx, visitor, WAY), targetLimit(ctx, visitor, WAY, signInWallet)])
  const userId = await userIdOf(ctx, { projectId, by: { signInWallet } })
  const nonce = randomBytes(NONCE_BYTES).toString('hex')
  const terms = { userId: null, target: signInWallet, lifetimeSeconds: NONCE_SECONDS }
  await issueNonce(ctx, { projectId, kind: 'wallet', nonce, ...terms })
  return { userId, nonce }
}

type Signed = { readonly message: string; readonly signature: Hex }

/** The only wrong proof whose error says what is wrong: it is the page's mistake, and reveals nothing of a user. */
const wrongChain = (chainId: number | null, expected: string): AppError =>
  new AppError('login_failed', `The message is for the chain with id ${chainId}, but must be for ${expected}.`)

/**
 * The wallets that may have signed a message: a key and, if the message names a chain, a contract on that chain.
 * @throws login_failed for a chain that is no network of this environment.
 */
const signersOf = ({ chains }: HasChains, { address, chainId }: SignInMessage) => {
  const chain = chainWithId(chains, chainId)
  if (chain === undefined) throw wrongChain(chainId, chainIdsInWords(chains))
  const key = chain.accountOf(address)
  return key === null ? null : { key, contract: chain.contractSigner(key), chain }
}

type Signers = NonNullable<ReturnType<typeof signersOf>>

/** The wallet that signed, or null. Without a node of its network, only a key's signature can be checked. */
const signerOf = async ({ key, contract, chain }: Signers, signed: Signed): Promise<string | null> => {
  const by = await chain.verifyMessage({ ...signed, address: key })
  return by === 'contract' ? contract : by && key
}

/** A message from a page must be for that page. A caller without an origin may use any origin of the project. */
const isForOrigin = (ctx: IdentityCtx, { project, origin: page }: Visitor, message: SignInMessage): boolean => {
  const origin = originOf(message)
  if (origin === null) return false
  return page === null ? isOriginOf(ctx, { project, origin }) : origin === page
}

/**
 * Checks a signed EIP-4361 message, or the same message by a Substrate account. The nonce is used up only when the session
 * begins, so that the user need not sign again after a failure of a node.
 * @throws login_failed for a message for the wrong chain.
 */
export const proveByWallet: Prove<{ readonly message: string; readonly signature: string }> = async (
  ctx,
  visitor,
  { message: text, signature },
) => {
  const message = parseSiwe(text) ?? parseSiws(text)
  const signers = message && signersOf(ctx, message)
  if (message === null || signers === null || !isForOrigin(ctx, visitor, message)) return null

  const { projectId } = visitor
  const nonce = { projectId, kind: 'wallet', nonce: message.nonce } as const
  const issued = await readNonce(ctx, nonce)
  // Check the nonce first, so that strangers cannot make us call a node.
  if (issued === null) return null
  if (![signers.key, signers.contract].includes(issued.target)) {
    const chain = contractChainOf(issued.target, message.address)
    if (chain !== null) throw wrongChain(message.chainId, `${chain}, the chain of the contract`)
    return null
  }
  if (!isTimely(message, { nowMs: ctx.now().getTime(), nonceCreatedAtMs: issued.createdAt.getTime() })) return null

  const signer = await signerOf(signers, { message: text, signature: `0x${signature.slice(2)}` })
  // A nonce for an address is valid for its key and its contract. A nonce for a contract is valid for that contract only.
  if (signer === null || ![signer, signers.key].includes(issued.target)) return null

  const id = derivedUserId(ctx, { projectId, by: { signInWallet: signer } })
  return {
    way: 'wallet',
    consume: async (tx) =>
      (await takeNonce(ctx, tx, nonce)) === null
        ? null
        : { userId: await ensureUser(ctx, tx, { id, projectId, by: { signInWallet: signer } }) },
  }
}

import { findProject } from '../../db/queries/projects.ts'
import { rpIdFor } from '../auth/relying-party.ts'
import type { Ctx } from '../context.ts'
import { AppError } from '../errors.ts'
import { UUID } from '../http/text.ts'
import { sendsMail } from '../mail/queue.ts'
import { readReturnAddress } from './return-address.ts'

/** The data of the login page. */
export type Login = {
  /** The path under which clients reach this service; '' if it is the host's root. */
  readonly root: string
  readonly projectId: string
  readonly projectName: string
  /** Where the user goes after login; null: they stay on the page. */
  readonly returnTo: string | null
  /** Returned with the user unchanged; at most 512 characters. */
  readonly state: string | null
  readonly hasMail: boolean
  readonly hasPasskeys: boolean
  /** The chain ids that a wallet's sign-in message may name. */
  readonly chainIds: readonly number[]
}

const STATE_MAX = 512

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

/** Whether the project's passkeys work on a page at our own address. */
const canHavePasskeys = (ctx: Pick<Ctx, 'config'>, project: Parameters<typeof rpIdFor>[0]): boolean => {
  try {
    rpIdFor(project, new URL(ctx.config.publicBaseUrl).origin)
    return true
  } catch (error) {
    if (error instanceof AppError) return false
    throw error
  }
}

/**
 * Opens the login page of a project.
 * @param query as in `/login?project_id=…&redirect_uri=…&state=…`.
 * @throws invalid_input with a sentence for the app's developer.
 */
export const openLogin = async (
  ctx: Pick<Ctx, 'config' | 'db' | 'chains'>,
  query: Readonly<Record<string, string | undefined>>,
): Promise<Login> => {
  const { project_id: id = '', redirect_uri: wanted, state } = query
  const project = UUID.test(id) ? await findProject(ctx.db, id.toLowerCase()) : null
  if (project === null) return refuse('The parameter project_id must be the id of a project.')
  const returnTo = wanted === undefined ? null : readReturnAddress(ctx, project, wanted)
  if (wanted !== undefined && returnTo === null) {
    refuse('The parameter redirect_uri must be a URL without a fragment, at an origin that the project allows.')
  }
  if (state !== undefined && state.length > STATE_MAX) {
    refuse(`The parameter state must be a text of at most ${STATE_MAX} characters.`)
  }
  return {
    root: new URL(ctx.config.publicBaseUrl).pathname.replace(/\/$/, ''),
    projectId: project.id,
    projectName: project.name,
    returnTo,
    state: state ?? null,
    hasMail: sendsMail(ctx),
    hasPasskeys: canHavePasskeys(ctx, project),
    chainIds: ctx.chains.known.flatMap(({ chainId }) => chainId ?? []),
  }
}

import { runWith } from '../operators/cli/commands.ts'
import type { Contexts, Surroundings } from '../operators/cli/shell.ts'

const large = () => import('./contexts.ts')
/** Loaded in a fifth of the time. */
const keyed = () => import('./keyed-contexts.ts')
const ofVaults = () => import('./vault-contexts.ts')

const CONTEXTS: Contexts = {
  reading: async () => (await keyed()).createReadingCtx,
  asking: async () => (await large()).createAskingCtx,
  examined: async () => (await large()).createExaminedCtx,
  askingIdentity: async () => (await large()).createAskingIdentityCtx,
  identity: async () => (await keyed()).createIdentityCtx,
  apiVault: async () => (await ofVaults()).createApiVaultCtx,
  askingVault: async () => (await large()).createAskingVaultCtx,
  vault: async () => (await ofVaults()).createVaultCtx,
  lostKey: async () => (await ofVaults()).createLostKeyCtx,
  operator: async () => (await large()).createOperatorCtx,
}

/** Runs one of the operator's commands. @returns its exit code: 1 if it failed, 2 for a wrong use of it. */
export const runCommand = (args: readonly string[], surroundings: Surroundings): Promise<number> =>
  runWith(args, surroundings, CONTEXTS)

import { runWith } from '../operators/cli/commands.ts'
import type { Contexts, Surroundings } from '../operators/cli/shell.ts'

const large = () => import('./contexts.ts')
const asking = () => import('./asking-contexts.ts')
/** Loaded in a fifth of the time. */
const keyed = () => import('./keyed-contexts.ts')
const vaults = () => import('../vault/client/vaults.ts')

const withApiVault: Contexts['apiVault'] = async () => {
  const [{ createReadingCtx }, { openVaults, withVault }] = [await keyed(), await vaults()]
  return (input) => withVault(openVaults(input), () => createReadingCtx(input))
}

const withOperatorVault: Contexts['vault'] = async () => {
  const [{ createReadingCtx }, { openVaultsAsOperator, withVault }] = [await keyed(), await vaults()]
  return (input) => withVault(openVaultsAsOperator(input), () => createReadingCtx(input))
}

/** The vault confirms the wallets. */
const withLostKey: Contexts['lostKey'] = async () => {
  const [{ createLostIdentityCtx }, { openVaultsAsOperator, withVault }] = [await keyed(), await vaults()]
  return (input) => withVault(openVaultsAsOperator(input), () => createLostIdentityCtx(input))
}

const CONTEXTS: Contexts = {
  reading: async () => (await keyed()).createReadingCtx,
  asking: async () => (await asking()).createAskingCtx,
  examined: async () => (await asking()).createExaminedCtx,
  askingIdentity: async () => (await asking()).createAskingIdentityCtx,
  identity: async () => (await keyed()).createIdentityCtx,
  apiVault: withApiVault,
  askingVault: async () => (await large()).createAskingVaultCtx,
  vault: withOperatorVault,
  lostKey: withLostKey,
  operator: async () => (await large()).createOperatorCtx,
}

export const runCommand = (args: readonly string[], surroundings: Surroundings): Promise<number> =>
  runWith(args, surroundings, CONTEXTS)

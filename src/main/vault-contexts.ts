// The contexts of commands that ask the vault, and no node.

import type { AuditingCtx, ReadingCtx } from '../operators/ctx.ts'
import type { Process } from '../platform/config.ts'
import { openVaults, openVaultsAsOperator, withVault } from '../vault/client/vaults.ts'
import type { HasOperatorVault, HasVault } from '../vault/contract/vault.ts'
import { createLostIdentityCtx, createReadingCtx } from './keyed-contexts.ts'

/** For commands that ask what an API may ask, and read the database. */
export const createApiVaultCtx = (input: Process): Promise<ReadingCtx & HasVault> =>
  withVault(openVaults(input), () => createReadingCtx(input))

/** For an operator's commands that ask the vault, and read the database. */
export const createVaultCtx = (input: Process): Promise<ReadingCtx & HasOperatorVault> =>
  withVault(openVaultsAsOperator(input), () => createReadingCtx(input))

/** For the command that replaces a lost identity key: the vault confirms the wallets. */
export const createLostKeyCtx = (input: Process): Promise<AuditingCtx & HasOperatorVault> =>
  withVault(openVaultsAsOperator(input), () => createLostIdentityCtx(input))

import type { Hex } from '../../chains/chain.ts'
import { onlySignature } from '../../vault/contract/contract.ts'
import type { SigningCtx } from '../ctx.ts'
import { signWithPolicies } from '../policies/typed-data.ts'
import { findSignerWallet, readContractWallet, resolveKeySigner, type SignerInput } from '../wallets/signer.ts'
import { parseTypedData } from './read.ts'
import type { TypedDataField } from './schema.ts'

type SignTypedDataInput = SignerInput & { readonly typedData: TypedDataField }

/**
 * For an eoa wallet by its key, without asking a node; for a contract wallet by ERC-1271, in ERC-6492 until it is
 * deployed. A shared keyring needs both credentials, or the developer's secret and a policy that names type and
 * contract.
 */
export const signTypedData = async (ctx: SigningCtx, input: SignTypedDataInput): Promise<Hex> => {
  const { credentials, actor, approvalId } = input
  const signer = await resolveKeySigner(ctx, input)
  const { chain } = signer
  const { keyTypedData } = parseTypedData(chain, input.typedData)
  const { typedData } = input
  const wallet = await findSignerWallet(ctx, { ...input, signer })
  const contract = await readContractWallet(chain, wallet)
  const { payload, ...signable } =
    contract === null
      ? keyTypedData(typedData)
      : contract.contractWallets.typedData(contract.wallet, { typedData, isDeployed: contract.isDeployed })
  const use = { action: 'message_signed', details: { message_type: 'typed_data' }, payloads: [payload] } as const
  const asked = { chain, wallet, credentials, actor, approvalId, typedData, use }
  return signable.with(onlySignature(await signWithPolicies(ctx, asked)))
}

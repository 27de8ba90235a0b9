/** What opens a wallet: the secret of its developer, or of its user. */
export type Credential =
  | { readonly developer_secret: string }
  | { readonly user_pin: string }
  | { readonly user_secret: string }

/** A credential, or a function that asks for it at each signature, so that no program keeps it. */
export type CredentialSource = Credential | (() => Credential | Promise<Credential>)

export const credentialOf = async (source: CredentialSource): Promise<Credential> =>
  typeof source === 'function' ? source() : source

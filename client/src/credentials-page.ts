// The way to the service's page on which users change what opens their wallets. It leads back without a code or a
// token.

export type CredentialsPage = {
  /** The URL of the service, for instance `https://wallets.example.com`. */
  readonly baseUrl: string
  readonly projectId: string
  /** Where the user comes back to: one of the project's return addresses, exactly. Without it they stay there. */
  readonly redirectUri?: string
  /** Comes back unchanged as the parameter `state`. */
  readonly state?: string
}

/** The address of the page, for a link. The user logs in there, also if they are logged in to the app. */
export const credentialsUrl = ({ baseUrl, projectId, redirectUri, state }: CredentialsPage): string => {
  const query = new URLSearchParams({ project_id: projectId })
  if (redirectUri !== undefined) query.set('redirect_uri', redirectUri)
  if (state !== undefined) query.set('state', state)
  return `${baseUrl.replace(/\/+$/, '')}/credentials?${query}`
}

import type { IssuerRow } from '../../../db/queries/issuers.ts'
import type { Config } from '../../platform/config.ts'

/** Where an issuer sends people back to. It must be registered there exactly so, and it stays when the issuer is removed and added again. */
export const callbackOf = (
  { publicBaseUrl }: Pick<Config, 'publicBaseUrl'>,
  { projectId, name }: Pick<IssuerRow, 'projectId' | 'name'>,
): string => `${publicBaseUrl.replace(/\/$/, '')}/login/oidc/callback/${projectId}/${name}`

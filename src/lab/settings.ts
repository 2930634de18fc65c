/** Settings of the stanza `understudy`. */
export type LabSettings = Readonly<Record<string, string | number | boolean>>

/** Labs notice a dead peer quickly, lock nobody out and may be tampered with. */
export const LAB_SETTINGS: LabSettings = {
  keepalive_time: '500ms',
  keepalive_timeout: '500ms',
  user_lockout: false,
  lab_api: true,
}

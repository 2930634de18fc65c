import { useState } from 'preact/hooks'
import { FieldInput } from './field-input.js'

interface OneSecretProps {
  readonly label: string
  readonly button: string
  readonly onSubmit: (value: string) => void
}

/** An input for one secret, which is cleared after submission. */
export const OneSecret = ({ label, button, onSubmit }: OneSecretProps) => {
  const [value, setValue] = useState('')
  return (
    <form
      autocomplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (value.trim() === '') return
        onSubmit(value.trim())
        setValue('')
      }}
    >
      <FieldInput field={{ name: 'secret', label, kind: 'secret' }} value={value} onChange={setValue} />
      <button type="submit" class="main">
        {button}
      </button>
    </form>
  )
}

import { render } from "preact";
import { App } from "./app.jsx";
import { applyTheme } from "./theme.js";

applyTheme();
render(<App />, document.getElementById("app"));
